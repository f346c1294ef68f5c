"""What a ranking depends on: the same analysis of data with something left out, degraded or inflated beforehand.

Source: Knowles 2021, *On the Stability of System Rankings at WMT*, §5.2.
"""

"""What post-edits tell about the outputs they were made from, and about each other.

Sources: Bentivogli, Cettolo, Federico & Federmann 2018, *Machine Translation Human Evaluation: an investigation of
evaluation based on Post-Editing and its relation with Direct Assessment*; Licht et al. 2022, §5.1.
"""

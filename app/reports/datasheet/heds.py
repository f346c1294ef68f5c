"""Questions of the Human Evaluation Datasheet 3.0 by section, with their numbers and in our words.

Sources: Belz & Thomson 2024, "HEDS 3.0: The Human Evaluation Data Sheet Version 3.0" (arXiv 2412.07940), and its form.
The topics of sections 3 and 4 also follow Shimorina & Belz 2022 (2022.humeval-1.6), whose numbering HEDS keeps there.
"""

from __future__ import annotations

from collections.abc import Mapping

SECTIONS: Mapping[str, str] = {
    "1": "Main reference and supplementary resources",
    "2": "Evaluated systems",
    "3.1": "Sample of system outputs",
    "3.2": "Evaluators",
    "3.3": "Experimental design",
    "4.1": "Quality criterion: properties",
    "4.2": "Quality criterion: evaluation mode",
    "4.3": "Quality criterion: response elicitation",
    "5": "Ethics",
}
QUESTIONS: Mapping[str, str] = {
    "1.1": "main reference of the experiment",
    "1.2": "where its resources are",
    "1.3": "who completes the sheet, and the contact author",
    "2.1": "type of input of the systems",
    "2.2": "type of output of the systems",
    "2.3": "task of the systems",
    "2.4": "input languages",
    "2.5": "output languages",
    "3.1.1": "number of outputs evaluated for each system",
    "3.1.2": "how outputs were selected",
    "3.1.3": "statistical power of the sample",
    "3.2.1": "number of evaluators",
    "3.2.2": "kind of evaluators: experts, paid, known to the authors, authors themselves",
    "3.2.3": "how evaluators were recruited",
    "3.2.4": "training and practice before the evaluation",
    "3.2.5": "other characteristics of evaluators",
    "3.3.1": "preregistration",
    "3.3.2": "how responses were collected",
    "3.3.3": "quality assurance",
    "3.3.4": "what evaluators saw",
    "3.3.5": "how free evaluators were in when and how quickly they worked",
    "3.3.6": "whether evaluators could ask questions or comment",
    "3.3.7": "conditions under which evaluators worked",
    "3.3.8": "how those conditions varied",
    "4.1.1": "type of quality: correctness, goodness or feature",
    "4.1.2": "aspect of outputs: form, content or both",
    "4.1.3": "frame of reference: own right, input or external",
    "4.2.1": "objective or subjective",
    "4.2.2": "absolute or relative",
    "4.2.3": "intrinsic or extrinsic",
    "4.3.1": "name of the criterion as evaluators saw it",
    "4.3.2": "definition given to evaluators",
    "4.3.3": "size of the scale",
    "4.3.4": "values of the scale",
    "4.3.5": "how the scale was presented",
    "4.3.6": "the task where there is no rating instrument",
    "4.3.7": "the question or prompt shown",
    "4.3.8": "form of response elicitation",
    "4.3.9": "how responses were aggregated",
    "4.3.10": "methods for effect size and significance",
    "4.3.11.1": "how agreement between evaluators was measured",
    "4.3.11.2": "agreement between evaluators",
    "4.3.12.1": "how agreement of evaluators with themselves was measured",
    "4.3.12.2": "agreement of evaluators with themselves",
    "5.1": "research ethics committee that approved the experiment",
    "5.2": "personal data in outputs or responses",
    "5.3": "special category data in outputs or responses",
    "5.4": "impact assessments",
}
CHECKLIST: Mapping[str, str] = {
    "languages": "the languages are named",
    "systems": "the systems are named and human translations are marked",
    "test_set": "size and domains of the test set are reported",
    "sampling": "how texts were chosen is reported",
    "protocol": "the protocol and its version are named",
    "scale": "the scale or error weights are reported",
    "basis": "the basis of the judgments (source, reference) is reported",
    "context": "how much context evaluators saw is reported",
    "guidelines": "the guidelines are stored and can be published",
    "interface": "the presentation of items is reported",
    "evaluators": "the number of evaluators is reported",
    "recruitment": "recruitment is reported",
    "expertise": "qualification of evaluators is reported",
    "training": "training or a qualification test is reported",
    "pay": "compensation is reported",
    "assignment": "how items were assigned is stored with its seed",
    "overlap": "ratings per output and overlap of evaluators are reported",
    "quality_control": "quality control and its exclusions are reported",
    "preregistration": "analysis and exclusions were registered before the first judgment",
    "analysis": "aggregation, test, correction and uncertainty are reported",
}
"""Twenty points under three heads: what was measured and how, who contributed judgments, how to interpret them.

The heads follow Mei et al. 2026 (arXiv 2606.07936), who count how often papers report such points. The choice and
wording of the points are ours, not theirs.
"""

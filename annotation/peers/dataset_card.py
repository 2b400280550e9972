"""The dataset card of the Hugging Face Hub: `README.md` with YAML before the text."""

from collections.abc import Sequence

import yaml

from annotation.peers.croissant import RAI, DataFile, DatasetFacts

SIZES = (("n<1K", 1e3), ("1K<n<10K", 1e4), ("10K<n<100K", 1e5), ("100K<n<1M", 1e6), ("1M<n<10M", 1e7))
HEADINGS = {
    "dataCollection": "Data collection",
    "dataCollectionTimeFrame": "Time frame",
    "dataPreprocessingProtocol": "Preprocessing",
    "dataAnnotationProtocol": "Annotation protocol",
    "dataAnnotationPlatform": "Annotation platform",
    "annotationsPerItem": "Labels per item",
    "annotatorDemographics": "Annotators",
    "machineAnnotationTools": "LLM judges",
    "dataBiases": "Biases",
    "dataUseCases": "Uses",
    "dataLimitations": "Limitations",
    "dataSocialImpact": "Social impact",
    "personalSensitiveInformation": "Personal and sensitive information",
    "dataReleaseMaintenancePlan": "Maintenance",
}


def dataset_card(facts: DatasetFacts, files: Sequence[DataFile]) -> str:
    """The text of the card; what is not known is left out."""
    rows = max((file.rows for file in files), default=0)
    about = {
        "license": facts.licence.lower() or None,
        "language": facts.language or None,
        "pretty_name": facts.title,
        "size_categories": [next((name for name, most in SIZES if rows < most), "n>10M")],
        "tags": ["human-feedback", "llm-as-a-judge", "croissant"],
        "configs": [{"config_name": file.name, "data_files": file.path} for file in files],
    }
    front = yaml.safe_dump(
        {name: value for name, value in about.items() if value}, sort_keys=False, allow_unicode=True
    )
    parts = [f"---\n{front}---\n", f"# {facts.title}\n"]
    if facts.description:
        parts.append(f"{facts.description}\n")
    parts.append("## Files\n")
    for file in files:
        parts.append(
            f"### {file.name}\n\n`{file.path}`, {file.rows:,} rows.\n\n| column | type | means |\n|---|---|---|"
        )
        parts.extend(f"| `{name}` | {type} | {meaning} |" for name, type, meaning in file.columns)
        parts.append("")
    for name in RAI:
        said = (facts.rai or {}).get(name)
        if said and name in HEADINGS:
            parts.append(f"## {HEADINGS[name]}\n")
            parts.append("\n\n".join([said] if isinstance(said, str) else said) + "\n")
    if facts.licence:
        parts.append(f"## License\n\n{facts.licence}\n")
    if facts.citation:
        parts.append(f"## Citation\n\n```bibtex\n{facts.citation.replace('```', '')}\n```\n")
    return "\n".join(parts)

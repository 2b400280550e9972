"""What the methods of a report cite, as BibTeX and as a list: each statistic that is used, the software, the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from annotation.kinds import kind_of
from metaeval.reports.latex_text import escape
from metaeval.reports.report import ReportContent

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Citation:
    """An entry of a bibliography; fields are plain text."""

    key: str
    entry: str
    authors: tuple[str, ...]
    title: str
    year: str
    fields: Fields = ()

    @property
    def text(self) -> str:
        """As a line of a list of references."""
        where = [
            value for name, value in self.fields if name in ("journal", "booktitle", "howpublished", "note")
        ]
        return f"{'. '.join(filter(None, [_listed(self.authors).removesuffix('.'), self.title, *where, self.year]))}."

    @property
    def bibtex(self) -> str:
        """As BibTeX; braces keep the capitals of a title."""
        names = " and ".join(map(_name, self.authors))
        rows = [("author", names), ("title", f"{{{escape(self.title)}}}"), ("year", self.year)]
        rows += [(name, value if name in ("url", "doi") else escape(value)) for name, value in self.fields]
        lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in rows if value)
        return f"@{self.entry}{{{self.key},\n{lines}\n}}\n"


def _name(author: str) -> str:
    """A person as BibTeX reads names; an organization or a team is one word to it."""
    return escape(author) if "," in author else f"{{{escape(author)}}}"


def _listed(authors: Sequence[str]) -> str:
    names = [" ".join(reversed(author.split(", "))) for author in authors]
    if len(names) > 3:
        return f"{names[0]} et al."
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _article(
    key: str, authors: str, title: str, year: int, journal: str, volume: str, pages: str
) -> Citation:
    fields = (("journal", journal), ("volume", volume), ("pages", pages))
    return Citation(key, "article", tuple(authors.split("; ")), title, str(year), fields)


def _paper(key: str, authors: str, title: str, year: int, where: str, note: str = "") -> Citation:
    fields = (("booktitle", where), ("note", note))
    return Citation(key, "inproceedings", tuple(authors.split("; ")), title, str(year), fields)


def _preprint(key: str, authors: str, title: str, year: int, note: str) -> Citation:
    return Citation(key, "misc", tuple(authors.split("; ")), title, str(year), (("note", note),))


KNOWN: tuple[Citation, ...] = (
    _preprint(
        "lyu2024href",
        "Lyu, Xinxi; Wang, Yizhong; Hajishirzi, Hannaneh; Dasigi, Pradeep",
        "HREF: Human Response-Guided Evaluation of Instruction Following in Language Models",
        2024,
        "arXiv:2412.15524",
    ),
    _paper(
        "dubois2023alpacafarm",
        "Dubois, Yann; Li, Xuechen; Taori, Rohan; Zhang, Tianyi; Gulrajani, Ishaan; Ba, Jimmy; Guestrin, Carlos; "
        "Liang, Percy; Hashimoto, Tatsunori B.",
        "AlpacaFarm: A Simulation Framework for Methods that Learn from Human Feedback",
        2023,
        "Advances in Neural Information Processing Systems 36",
    ),
    _paper(
        "zeng2024llmbar",
        "Zeng, Zhiyuan; Yu, Jiatong; Gao, Tianyu; Meng, Yu; Goyal, Tanya; Chen, Danqi",
        "Evaluating Large Language Models at Evaluating Instruction Following",
        2024,
        "International Conference on Learning Representations",
        "arXiv:2310.07641",
    ),
    _preprint(
        "krippendorff2011alpha",
        "Krippendorff, Klaus",
        "Computing Krippendorff's Alpha-Reliability",
        2011,
        "University of Pennsylvania, Departmental Papers (ASC) 43",
    ),
    _article(
        "fleiss1971kappa",
        "Fleiss, Joseph L.",
        "Measuring nominal scale agreement among many raters",
        1971,
        "Psychological Bulletin",
        "76",
        "378-382",
    ),
    _article(
        "gwet2008ac1",
        "Gwet, Kilem Li",
        "Computing inter-rater reliability and its variance in the presence of high agreement",
        2008,
        "British Journal of Mathematical and Statistical Psychology",
        "61",
        "29-48",
    ),
    _article(
        "spearman1904",
        "Spearman, Charles",
        "The proof and measurement of association between two things",
        1904,
        "The American Journal of Psychology",
        "15",
        "72-101",
    ),
    _article(
        "brier1950",
        "Brier, Glenn W.",
        "Verification of forecasts expressed in terms of probability",
        1950,
        "Monthly Weather Review",
        "78",
        "1-3",
    ),
    _paper(
        "ziems2024tower",
        "Ziems, Noah; Zhang, Zhihan; Jiang, Meng",
        "TOWER: Tree Organized Weighting for Evaluating Complex Instructions",
        2024,
        "Findings of the Association for Computational Linguistics: EMNLP 2024",
    ),
    _paper(
        "qin2024infobench",
        "Qin, Yiwei; Song, Kaiqiang; Hu, Yebowen; Yao, Wenlin; Cho, Sangwoo; Wang, Xiaoyang; Wu, Xuansheng; Liu, Fei; "
        "Liu, Pengfei; Yu, Dong",
        "InFoBench: Evaluating Instruction Following Ability in Large Language Models",
        2024,
        "Findings of the Association for Computational Linguistics: ACL 2024",
        "arXiv:2401.03601",
    ),
    _preprint(
        "zhang2024helminstruct",
        "Zhang, Yian; Mai, Yifan; Roberts, Josselin Somerville; Bommasani, Rishi; Dubois, Yann; Liang, Percy",
        "HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with Absolute Ratings",
        2024,
        "Stanford Center for Research on Foundation Models",
    ),
    _paper(
        "gritta2024humanrankeval",
        "Gritta, Milan; Lampouras, Gerasimos; Iacobacci, Ignacio",
        "HumanRankEval: Automatic Evaluation of LMs as Conversational Assistants",
        2024,
        "Proceedings of NAACL 2024",
    ),
    _article(
        "wilson1927",
        "Wilson, Edwin B.",
        "Probable inference, the law of succession, and statistical inference",
        1927,
        "Journal of the American Statistical Association",
        "22",
        "209-212",
    ),
    _article(
        "korn1998",
        "Korn, Edward L.; Graubard, Barry I.",
        "Confidence intervals for proportions with small expected number of positive counts estimated from survey data",
        1998,
        "Survey Methodology",
        "24",
        "193-201",
    ),
    _article(
        "fisher1921",
        "Fisher, Ronald A.",
        "On the probable error of a coefficient of correlation deduced from a small sample",
        1921,
        "Metron",
        "1",
        "3-32",
    ),
    _article(
        "field2007",
        "Field, Christopher A.; Welsh, Alan H.",
        "Bootstrapping clustered data",
        2007,
        "Journal of the Royal Statistical Society: Series B",
        "69",
        "369-390",
    ),
    _article(
        "cameron2011",
        "Cameron, A. Colin; Gelbach, Jonah B.; Miller, Douglas L.",
        "Robust inference with multiway clustering",
        2011,
        "Journal of Business and Economic Statistics",
        "29",
        "238-249",
    ),
    _article(
        "satterthwaite1946",
        "Satterthwaite, Franklin E.",
        "An approximate distribution of estimates of variance components",
        1946,
        "Biometrics Bulletin",
        "2",
        "110-114",
    ),
    _article(
        "hansen2011",
        "Hansen, Peter R.; Lunde, Asger; Nason, James M.",
        "The model confidence set",
        2011,
        "Econometrica",
        "79",
        "453-497",
    ),
    _article(
        "horvitz1952",
        "Horvitz, Daniel G.; Thompson, Donovan J.",
        "A generalization of sampling without replacement from a finite universe",
        1952,
        "Journal of the American Statistical Association",
        "47",
        "663-685",
    ),
    _paper(
        "calderon2025",
        "Calderon, Nitay; Reichart, Roi; Dror, Rotem",
        "The Alternative Annotator Test for LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators "
        "with LLMs",
        2025,
        "Proceedings of the Association for Computational Linguistics (ACL 2025)",
        "arXiv:2501.10970",
    ),
    _paper(
        "zheng2023mtbench",
        "Zheng, Lianmin; Chiang, Wei-Lin; Sheng, Ying; Zhuang, Siyuan; Wu, Zhanghao; Zhuang, Yonghao; Lin, Zi; Li, "
        "Zhuohan; Li, Dacheng; Xing, Eric P.; Zhang, Hao; Gonzalez, Joseph E.; Stoica, Ion",
        "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena",
        2023,
        "Advances in Neural Information Processing Systems 36",
    ),
    _paper(
        "arora2025healthbench",
        "Arora, Rahul K.; Wei, Jason; Soskin Hicks, Rebecca; Bowman, Preston; Quiñonero-Candela, Joaquin; Tsimpourlis, "
        "Foivos; Sharman, Michael; Shah, Meghan; Vallone, Andrea; Beutel, Alex; Heidecke, Johannes; Singhal, Karan",
        "HealthBench: Evaluating Large Language Models Towards Improved Human Health",
        2025,
        "arXiv:2505.08775",
    ),
    _paper(
        "tan2025judgebench",
        "Tan, Sijun; Zhuang, Siyuan; Montgomery, Kyle; Tang, William Y.; Cuadron, Alejandro; Wang, Chenguang; Popa, "
        "Raluca Ada; Stoica, Ion",
        "JudgeBench: A Benchmark for Evaluating LLM-based Judges",
        2025,
        "International Conference on Learning Representations",
    ),
    _paper(
        "lambert2025rewardbench",
        "Lambert, Nathan; Pyatkin, Valentina; Morrison, Jacob; Miranda, LJ; Lin, Bill Yuchen; Chandu, Khyathi; Dziri, "
        "Nouha; Kumar, Sachin; Zick, Tom; Choi, Yejin; Smith, Noah A.; Hajishirzi, Hannaneh",
        "RewardBench: Evaluating Reward Models for Language Modeling",
        2025,
        "Findings of the Association for Computational Linguistics: NAACL 2025",
    ),
    _preprint(
        "malik2025rewardbench2",
        "Malik, Saumya; Pyatkin, Valentina; Land, Sander; Morrison, Jacob; Smith, Noah A.; Hajishirzi, Hannaneh; "
        "Lambert, Nathan",
        "RewardBench 2: Advancing Reward Model Evaluation",
        2025,
        "arXiv:2506.01937",
    ),
    _paper(
        "liu2025rmbench",
        "Liu, Yantao; Yao, Zijun; Min, Rui; Cao, Yixin; Hou, Lei; Li, Juanzi",
        "RM-Bench: Benchmarking Reward Models of Language Models with Subtlety and Style",
        2025,
        "International Conference on Learning Representations",
    ),
    _paper(
        "guerdan2025",
        "Guerdan, Luke; Barocas, Solon; Holstein, Kenneth; Wallach, Hanna; Wu, Zhiwei Steven; Chouldechova, Alexandra",
        "Validating LLM-as-a-Judge Systems under Rating Indeterminacy",
        2025,
        "Advances in Neural Information Processing Systems (NeurIPS 2025)",
        "arXiv:2503.05965",
    ),
    _article(
        "benjamini2001",
        "Benjamini, Yoav; Yekutieli, Daniel",
        "The control of the false discovery rate in multiple testing under dependency",
        2001,
        "The Annals of Statistics",
        "29",
        "1165-1188",
    ),
    _article(
        "holm1979",
        "Holm, Sture",
        "A simple sequentially rejective multiple test procedure",
        1979,
        "Scandinavian Journal of Statistics",
        "6",
        "65-70",
    ),
    _article(
        "schuirmann1987",
        "Schuirmann, Donald J.",
        "A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence of "
        "average bioavailability",
        1987,
        "Journal of Pharmacokinetics and Biopharmaceutics",
        "15",
        "657-680",
    ),
)
_BY_KEY = {one.key: one for one in KNOWN}

# By the name of a figure in a report, of people or of judges.
_OF_FIGURES = {
    "leave_one_out": ("lyu2024href", "dubois2023alpacafarm"),
    "agreement": ("lyu2024href", "dubois2023alpacafarm"),
    "expected_win_rate": ("lyu2024href",),
    "first_label_prefers_longer": ("dubois2023alpacafarm",),
    "positional_agreement": ("zeng2024llmbar",),
    "positional_agreement_llmbar": ("zeng2024llmbar",),
    "krippendorff_alpha": ("krippendorff2011alpha",),
    "alpha": ("krippendorff2011alpha",),
    "test_retest_alpha": ("krippendorff2011alpha",),
    "fleiss_kappa": ("fleiss1971kappa",),
    "gwet_ac1": ("gwet2008ac1",),
    "squared_distance": ("brier1950",),
    "brier_score": ("brier1950",),
    "spearman": ("spearman1904",),
    "spearman_expected": ("spearman1904",),
    "within_one": ("zhang2024helminstruct",),
    "tower": ("ziems2024tower",),
    "drfr": ("qin2024infobench",),
    **dict.fromkeys(
        ("set_coverage", "set_hit_rate", "set_distance", "set_closeness", "set_consistency"), ("guerdan2025",)
    ),
}
# Of rankings, by what is ranked.
_OF_RANKS: dict[str, dict[str, tuple[str, ...]]] = {
    "responses": dict.fromkeys(("pearson", "spearman"), ("gritta2024humanrankeval",)),
    "aspects": {"spearman": ("spearman1904", "ziems2024tower")},
}


def keys_of_figure(kind: str, name: str) -> tuple[str, ...]:
    """What defines a figure of a kind of items."""
    of_kind = kind_of(kind)
    ranks = _OF_RANKS.get(of_kind.ordered, {})
    if name in ranks:
        return ranks[name]
    # Of other kinds than pairs the word means pairwise agreement.
    return () if name == "agreement" and not of_kind.presented else _OF_FIGURES.get(name, ())


def citations(report: ReportContent, keys: Iterable[str]) -> tuple[Citation, ...]:
    """The entries of these keys, each once, in the order of their first use."""
    own = {one.key: one for one in _own(report)}
    return tuple((own | _BY_KEY)[key] for key in dict.fromkeys(keys))


SOFTWARE, DATA = "touchstone", "dataset"


def data_key(report: ReportContent) -> str:
    """The key of the dataset: of letters and digits alone, whatever it is called."""
    return f"{DATA}-{re.sub('[^a-z0-9]+', '-', report.dataset['name'].lower()).strip('-') or 'data'}"


def _own(report: ReportContent) -> Iterator[Citation]:
    name, version = report.software["name"].title(), report.software["version"]
    yield Citation(
        SOFTWARE,
        "misc",
        (f"{name} developers",),
        f"{name}: which LLM judge to trust, for what, and how far",
        "",
        (("note", f"Version {version}"),),
    )
    source = str(report.dataset["source"] or "")
    about = [f"Version {report.dataset['version']}", f"inputs SHA-256 {report.inputs_hash}"]
    fields = [("note", ", ".join(about))]
    if source:
        fields.insert(0, ("howpublished", source))
    title = str(report.dataset["title"] or report.dataset["name"])
    yield Citation(data_key(report), "misc", (f"{title} dataset",), title, "", tuple(fields))


def bibtex(found: Iterable[Citation]) -> str:
    """A .bib file."""
    return "\n".join(one.bibtex for one in found)

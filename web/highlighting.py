r"""Code as HTML with classes for comments, keywords, strings, numbers and names.

One regular expression a language, every part of it possessive and unable to fail late: a character is read a bounded
number of times whatever the code is, so that the time follows the length. (The lexers of a highlighting library do
not promise that: 12 kB of C# took some of them 20 s.)
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import escape

CLASSES = {
    "comment": "hl-c",
    "keyword": "hl-k",
    "string": "hl-s",
    "number": "hl-m",
    "name": "hl-n",
    "gone": "hl-d",
}

_SLASH, _HASH, _DASH, _PERCENT, _SEMICOLON = (rf"{mark}[^\n]*+" for mark in ("//", "#", "--", "%", ";"))
_BLOCK = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/)?"
_MARKUP = r"<!--(?:[^-]++|-(?!->))*+(?:-->)?"
_PARENTHESES = r"\(\*(?:[^*]++|\*(?!\)))*+(?:\*\))?"
_BRACES = r"\{-(?:[^-]++|-(?!\}))*+(?:-\})?"
_LUA = r"--\[\[(?:[^\]]++|\](?!\]))*+(?:\]\])?"

_DOUBLE = r'"(?:[^"\\\n]++|\\[\s\S])*+"?'
_SINGLE = r"'(?:[^'\\\n]++|\\[\s\S])*+'?"
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n]{1,6}?)'"  # where an apostrophe may also begin a lifetime or end a name
_BACKTICK = r"`(?:[^`\\]++|\\[\s\S])*+`?"
_TRIPLE = r'"""(?:[^"\\]++|\\[\s\S]|"(?!""))*+(?:""")?'
_TRIPLE_SINGLE = r"'''(?:[^'\\]++|\\[\s\S]|'(?!''))*+(?:''')?"
_SQL = r"'(?:[^']++|'')*+'?"

_NUMBER = r"(?<![\w.])\d[\w]*+(?:\.\d\w*+)?+"
_WORD = r"[^\W\d]\w*+"


@dataclass(frozen=True, slots=True)
class Syntax:
    """How a language is written: its comments, its strings, its keywords, and names told by a pattern of their own."""

    keywords: str = ""
    comments: tuple[str, ...] = ()
    strings: tuple[str, ...] = (_DOUBLE, _SINGLE)
    names: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    any_case: bool = False


_C_WORDS = """break case const continue default do else enum extern for goto if inline register return signed sizeof
    static struct switch typedef union unsigned void volatile while bool char double float int long short true false
    NULL"""
_CPP_WORDS = f"""{_C_WORDS} auto catch class constexpr decltype delete explicit final friend mutable namespace new
    noexcept nullptr operator override private protected public template this throw try typename using virtual"""
_JAVA_WORDS = """abstract assert boolean break byte case catch char class const continue default do double else enum
    extends final finally float for if implements import instanceof int interface long native new null package private
    protected public record return short static super switch synchronized this throw throws transient true false try
    var void volatile while"""
_CSHARP_WORDS = f"""{_JAVA_WORDS} async await base bool decimal delegate event foreach get in internal is lock namespace
    object out override params readonly ref sealed set string struct using virtual yield"""
_JS_WORDS = """async await break case catch class const continue debugger default delete do else export extends false
    finally for from function if import in instanceof let new null of return static super switch this throw true try
    typeof undefined var void while yield"""
_TS_WORDS = f"""{_JS_WORDS} abstract any as boolean declare enum implements interface keyof namespace never number
    private protected public readonly string type unknown"""
_PYTHON_WORDS = """and as assert async await break class continue def del elif else except False finally for from global
    if import in is lambda match None nonlocal not or pass raise return True try while with yield"""
_SQL_WORDS = """add all alter and as asc begin between by case check column commit constraint create cross database
    default delete desc distinct drop else end exists false foreign from full group having if in index inner insert
    into is join key left like limit not null offset on or order outer over partition primary references returning
    right rollback select set table then transaction true union unique update using values view when where with"""
_SHELL_WORDS = """case do done elif else esac exit export fi for function if in local readonly return select set shift
    source then trap unset until while"""
_LISP_WORDS = "define def defn defun do fn if let lambda cond loop quote set! true false nil"

_C_COMMENTS = (_SLASH, _BLOCK)
_PROPERTY = r"(?m:^)[ \t]*+[\w.-]++(?=[ ]?[:=])"
_TAG = r"</?[A-Za-z][\w:-]*+|(?<![\w:-])[\w:-]++(?==[\"'])|/?>"
_PYTHON = Syntax(_PYTHON_WORDS, (_HASH,), (_TRIPLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE), (r"@[\w.]++",))
_C = Syntax(_C_WORDS, _C_COMMENTS, names=(r"(?m:^)#[ ]?\w++",))
_CPP = Syntax(_CPP_WORDS, _C_COMMENTS, (_DOUBLE, _CHARACTER), names=(r"(?m:^)#[ ]?\w++",))
_CSHARP = Syntax(_CSHARP_WORDS, _C_COMMENTS, (_DOUBLE, _CHARACTER))
_JS = Syntax(_JS_WORDS, _C_COMMENTS, (_DOUBLE, _SINGLE, _BACKTICK))
_TS = Syntax(_TS_WORDS, _C_COMMENTS, (_DOUBLE, _SINGLE, _BACKTICK), (r"@\w++",))
_LISP = Syntax(_LISP_WORDS, (_SEMICOLON,), (_DOUBLE,))
_SHELL = Syntax(_SHELL_WORDS, (_HASH,), names=(r"\$\{?\w++",))
_TEX = Syntax("", (_PERCENT,), (), (r"\\[A-Za-z@]++\*?",))
_HTML = Syntax("", (_MARKUP,), (r"(?<==)\"[^\"]*+\"?", r"(?<==)'[^']*+'?"), (_TAG,))
_RUBY = Syntax(
    """alias and begin break case class def do else elsif end ensure extend false for if in include module next nil not
    or private raise rescue require return self super then true unless until when while yield""",
    (_HASH,),
    names=(r"(?<![\w:]):\w++|@{1,2}\w++",),
)
_INI = Syntax("true false", (_HASH, _SEMICOLON), names=(_PROPERTY, r"(?m:^)\[[^\]\n]*+\]?"))
_YAML = Syntax("true false null", (rf"(?<![^\s]){_HASH}",), names=(r"(?m:^)[ \t-]*+[\w.-]++(?=:)",))
_MAKE = Syntax("define else endef endif ifdef ifeq ifndef ifneq include", (_HASH,), (), (_PROPERTY,))
_OCAML_WORDS = """and as begin class do done else end exception external false for fun function functor if in include
    let match module mutable of open rec sig struct then true try type val when while with"""

_SYNTAXES: dict[str, Syntax] = {
    "bash console sh shell zsh": _SHELL,
    "c objective-c": _C,
    "c++ cpp": _CPP,
    "c# cs csharp": _CSHARP,
    "clojure scheme": _LISP,
    "css": Syntax(
        "important inherit initial none auto", (_BLOCK,), names=(r"@[\w-]++|(?<![\w-])[\w-]++(?=[ ]?:)",)
    ),
    "dart": Syntax(f"{_JAVA_WORDS} async await dynamic late required String with yield", _C_COMMENTS),
    "diff": Syntax(
        comments=(r"(?m:^)(?:@@|---|\+\+\+|index|diff)[^\n]*+",),
        strings=(r"(?m:^)\+[^\n]*+",),
        gone=(r"(?m:^)-[^\n]*+",),
    ),
    "docker dockerfile": Syntax(
        "add arg cmd copy entrypoint env expose from as healthcheck label run shell user volume workdir",
        (_HASH,),
        any_case=True,
    ),
    "elixir": Syntax(
        """after alias and case catch cond def defmodule defp do else end false fn for if import in nil not or quote
        raise receive require rescue true try unless use when with""",
        (_HASH,),
        (_TRIPLE, _DOUBLE),
        (r"(?<![\w:]):\w++|@\w++",),
    ),
    "erlang": Syntax("after begin case catch cond end fun if let of receive try when", (_PERCENT,)),
    "fortran": Syntax(
        """allocate call case character contains do else elseif end enddo endif exit function if implicit integer intent
        logical module none print program real return select subroutine then type use while write""",
        (r"![^\n]*+",),
        any_case=True,
    ),
    "go": Syntax(
        """break case chan const continue default defer else fallthrough false for func go goto if import interface map
        nil package range return select string struct switch true type var int bool error""",
        _C_COMMENTS,
        (_DOUBLE, _CHARACTER, r"`[^`]*+`?"),
    ),
    "graphql": Syntax(
        "enum false fragment implements input interface mutation null on query scalar schema true type union",
        (_HASH,),
        (_TRIPLE, _DOUBLE),
        (r"[$@]\w++",),
    ),
    "haskell": Syntax(
        "case class data deriving do else if import in infix infixl infixr instance let module newtype of then type "
        "where",
        (_DASH, _BRACES),
        (_DOUBLE, _CHARACTER),
    ),
    "html xml": _HTML,
    "ini toml": _INI,
    "java": Syntax(_JAVA_WORDS, _C_COMMENTS, (_TRIPLE, _DOUBLE, _CHARACTER), (r"@\w++",)),
    "javascript js jsx": _JS,
    "json": Syntax("true false null", (), (_DOUBLE,)),
    "julia": Syntax(
        """abstract begin break catch const continue do else elseif end export false finally for function global if
        import in let local macro module mutable nothing quote return struct true try using where while""",
        (_HASH,),
        (_TRIPLE, _DOUBLE),
        (r"@\w++",),
    ),
    "kotlin": Syntax(
        """abstract as break by catch class companion continue data do else enum false finally for fun if import in
        inline interface internal is lateinit null object open override package private protected public return sealed
        super suspend this throw true try typealias val var when where while""",
        _C_COMMENTS,
        (_TRIPLE, _DOUBLE, _CHARACTER),
        (r"@\w++",),
    ),
    "latex tex": _TEX,
    "lua": Syntax(
        "and break do else elseif end false for function goto if in local nil not or repeat return then true until "
        "while",
        (_LUA, _DASH),
    ),
    "make makefile": _MAKE,
    "markdown": Syntax("", (_MARKUP,), (r"`[^`\n]*+`?",), (r"(?m:^)#{1,6} [^\n]*+",)),
    "matlab octave": Syntax(
        """break case catch classdef continue else elseif end for function global if otherwise parfor persistent return
        switch try while""",
        (_PERCENT,),
        (_DOUBLE,),
    ),
    "nasm": Syntax(
        "call cmp db dd dq dw global int jmp lea mov pop push ret section", (_SEMICOLON,), any_case=True
    ),
    "ocaml": Syntax(_OCAML_WORDS, (_PARENTHESES,), (_DOUBLE, _CHARACTER)),
    "perl": Syntax(
        """and die else elsif eq for foreach if last local my ne next no not or our package print redo require return
        sub unless until use while""",
        (rf"(?<![$\w]){_HASH}",),
        names=(r"[$@%]\w++",),
    ),
    "php": Syntax(
        """abstract and array as break case catch class const continue default do echo else elseif extends false final
        finally fn for foreach function global if implements include instanceof interface match namespace new null or
        private protected public readonly require return static switch this throw trait true try use var while yield""",
        (_SLASH, _BLOCK, _HASH),
        names=(r"\$\w++", r"<\?(?:php)?|\?>"),
    ),
    "powershell": Syntax(
        """begin break catch class continue do else elseif end exit filter finally for foreach function if in param
        process return switch throw try until while""",
        (r"<#(?:[^#]++|#(?!>))*+(?:#>)?", _HASH),
        (r'"(?:[^"`]++|`[\s\S])*+"?', _SQL),
        (r"\$[\w:]++",),
        any_case=True,
    ),
    "prolog": Syntax("is mod not fail true false", (_PERCENT, _BLOCK)),
    "py python python3": _PYTHON,
    "r": Syntax(
        "break else FALSE for function if in library NA next NULL repeat return TRUE while", (_HASH,)
    ),
    "rb ruby": _RUBY,
    "rust": Syntax(
        """as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod
        move mut pub ref return self Self static struct super trait true type unsafe use where while bool char f32 f64
        i32 i64 str u8 u32 u64 usize String""",
        _C_COMMENTS,
        (_DOUBLE, _CHARACTER),
        (r"\w++!",),
    ),
    "scala": Syntax(
        """abstract case catch class def do else enum extends false final finally for given if implicit import lazy
        match new null object override package private protected return sealed super then this throw trait true try type
        val var while with yield""",
        _C_COMMENTS,
        (_TRIPLE, _DOUBLE, _CHARACTER),
    ),
    "sql": Syntax(_SQL_WORDS, (_DASH, _BLOCK), (_SQL, r'"[^"\n]*+"?'), any_case=True),
    "swift": Syntax(
        """as associatedtype async await break case catch class continue default defer deinit do else enum extension
        false fileprivate for func guard if import in init inout internal is let nil open override private protocol
        public repeat return self static struct subscript super switch throw throws true try typealias var where
        while""",
        _C_COMMENTS,
        (_TRIPLE, _DOUBLE),
        (r"@\w++",),
    ),
    "ts tsx typescript": _TS,
    "vb": Syntax(
        """and as boolean byref byval call case class const dim do each else elseif end exit false for function get if
        integer is loop me module new next not nothing option or private property public return select set string sub
        then to true try until while with""",
        (r"'[^\n]*+",),
        (r'"(?:[^"\n]++|"")*+"?',),
        any_case=True,
    ),
    "yaml yml": _YAML,
}
SYNTAXES = {name: syntax for names, syntax in _SYNTAXES.items() for name in names.split()}


@lru_cache(maxsize=64)
def _scanner(language: str) -> tuple[re.Pattern[str], frozenset[str]]:
    syntax = SYNTAXES[language]
    groups = {
        "comment": syntax.comments,
        "gone": syntax.gone,
        "string": syntax.strings,
        "name": syntax.names,
        "number": (_NUMBER,),
        "word": (_WORD,),
    }
    parts = [f"(?P<{kind}>{'|'.join(patterns)})" for kind, patterns in groups.items() if patterns]
    words = syntax.keywords.casefold() if syntax.any_case else syntax.keywords
    return re.compile("|".join(parts)), frozenset(words.split())


def highlight(code: str, language: str) -> str:
    """Safe HTML of a piece of code in a language of `SYNTAXES`: escaped text, and spans with the classes of `CLASSES`.

    Examples
    --------
    >>> highlight("return 1 # <b>", "python")
    '<span class="hl-k">return</span> <span class="hl-m">1</span> <span class="hl-c"># &lt;b&gt;</span>'
    """
    pattern, keywords = _scanner(language)
    any_case = SYNTAXES[language].any_case
    html: list[str] = []
    end = 0
    for found in pattern.finditer(code):
        kind, text = found.lastgroup or "", found[0]
        if kind == "word":
            kind = _kind_of_word(
                text.casefold() if any_case else text, keywords, code[found.end() : found.end() + 1]
            )
        if not kind:
            continue
        html += (
            escape(code[end : found.start()]),
            f'<span class="{CLASSES[kind]}">',
            escape(text),
            "</span>",
        )
        end = found.end()
    html.append(escape(code[end:]))
    return "".join(html)


def _kind_of_word(word: str, keywords: frozenset[str], following: str) -> str:
    if word in keywords:
        return "keyword"
    return "name" if following == "(" else ""

"""The signals that can be a reason to look at a person's work, and what else explains each of them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignalKind:
    """One signal: what it's called, and what else brings it about."""

    key: str
    name: str
    explains: str


KINDS = {
    kind.key: kind
    for kind in (
        SignalKind(
            "reader_word",
            "Word of the hidden text",
            "The annotator asked a program about the page, perhaps for a translation, and took its words over. Or they "
            "found the hidden text in the page's source.",
        ),
        SignalKind(
            "decoy",
            "Hidden field filled in",
            "A password manager or an extension that fills in every field.",
        ),
        SignalKind(
            "automated",
            "Browser driven by a program",
            "Some assistive software and test tools drive a browser in this way.",
        ),
        SignalKind(
            "reading",
            "Faster than reading",
            "The annotator knew the item, or read it in another window. Texts that repeat each other are skimmed.",
        ),
        SignalKind(
            "pace",
            "Much faster than usual",
            "Experts are fast, and so are people who have read the item elsewhere or had it read to them.",
        ),
        SignalKind(
            "regular",
            "Times hardly vary",
            "Items of about the same length, or a habit of working by the clock.",
        ),
        SignalKind(
            "hidden",
            "Often leaves the page",
            "They look facts up, translate, or have a message to answer. A phone hides the page at every call.",
        ),
        SignalKind(
            "pasted",
            "Comments are pasted",
            "They write in an editor with a spelling checker, or paste from their own notes or a translator.",
        ),
        SignalKind(
            "keyless",
            "Text without keys",
            "Dictation, input methods, autofill and spelling extensions put text in without a key. Answers on a touch "
            "screen aren't counted, since a phone's keyboard predicts words.",
        ),
        SignalKind(
            "rhythm",
            "Keys at even intervals",
            "Switch access, on-screen keyboards and key repeat have an even rhythm.",
        ),
        SignalKind(
            "still",
            "No mouse, touch or key",
            "Screen readers, voice control and switch devices press buttons without a pointer and often without a key.",
        ),
        SignalKind(
            "unseen",
            "Text that never came into view",
            "Print and reading modes show the text elsewhere. Answers without a pointer or a finger aren't counted, "
            "since a screen reader reads without scrolling.",
        ),
        SignalKind(
            "untrusted",
            "Events made by a script",
            "Extensions for spelling, dictation, voice control or keyboard navigation make such events.",
        ),
    )
}

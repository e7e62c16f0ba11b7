"""What is concluded of rows and groups."""

from hakmem.learning import findings, rows
from hakmem.learning.findings import Finding
from hakmem.learning.judging import MET, MISSED, Compared
from made_up import interval

SAME = interval(0.99, 1.0, 1.01)


def test_a_question_is_answered_by_its_own_bounds_alone_though_others_have_the_same_words():
    """Of a stationary program: near the fastest fixed setting, and not worse than the default."""
    assert findings.BOUNDS["near"][0] == findings.BOUNDS["not worse"][0]
    def found(asked, verdict):
        return Finding(rows.PROGRAMS, "programs/a", "learned", "x", asked, findings.BOUNDS[asked][0], Compared(SAME, None, None, 40),
                       verdict)
    made = findings.answers([found("near", MET), found("not worse", MISSED)], [])
    near = next(one for one in made if one.subject == "learned" and one.question == findings.QUESTIONS[rows.PROGRAMS][1].text)
    assert (near.verdict, near.met, near.missed) == (MET, 1, 0)

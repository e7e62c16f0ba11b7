"""hakmem bench policy: by what settings are screened, and what is run for no figure."""

import pytest
from hakmem.learning import campaign


@pytest.mark.parametrize("mean, memory", [(None, 16), (4, 8)])
def test_memory_is_screened_by_peak_and_mean_alike_where_there_is_a_mean(mean, memory):
    assert campaign._values({"seconds": 2, "peak_kib": 16, "mean_kib": mean}) == {"time": 2, "memory": memory}

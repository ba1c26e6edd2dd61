"""Keys go where every other Kafka client would send them."""

from aiokafka.partitioner import DefaultPartitioner
from hypothesis import given
from hypothesis import strategies as st

from streams.transport.partitioner import murmur2, partition_of


def test_the_values_of_kafkas_own_tests():
    # UtilsTest.testMurmur2 of Apache Kafka
    assert murmur2(b"21") == -973932308 & 0xFFFFFFFF
    assert murmur2(b"foobar") == -790332482 & 0xFFFFFFFF
    assert murmur2(b"a-little-bit-long-string") == -985981536 & 0xFFFFFFFF
    assert murmur2(b"abc") == 479470107


@given(st.binary(max_size=80), st.integers(1, 40))
def test_it_agrees_with_aiokafka(key: bytes, partitions: int):
    everywhere = list(range(partitions))

    assert partition_of(key, partitions) == DefaultPartitioner()(key, everywhere, everywhere)

"""Elements of GF(2^w), ranks of vectors and of sets: by their definitions in docs/formats.md, one step at a time."""

from math import comb


def times(x: int, y: int, width: int, polynomial: int) -> int:
    """Multiply two elements of GF(2^width), bit i of a number being the coefficient of x^i.

    >>> times(2, 3, 2, 0b111)
    1
    """
    product = 0
    while y:
        if y & 1:
            product ^= x
        x <<= 1
        if x >> width:
            x ^= polynomial
        y >>= 1
    return product


def order_of_x(width: int, polynomial: int) -> int:
    """Return after how many steps the powers of x come back to 1; 0 if they never do. It walks through them all.

    >>> order_of_x(4, 0b10011), order_of_x(4, 0b11111), order_of_x(4, 0b10000)
    (15, 5, 0)
    """
    power = 1
    for step in range(1, 1 << width):
        power <<= 1
        if power >> width:
            power ^= polynomial
        if power == 1:
            return step
    return 0


def set_of(rank: int, n_items: int, size: int) -> list[int]:
    """Return the set of numbers below ``n_items`` with a rank: for i = size … 1 the largest c with C(c, i) ≤ rank.

    >>> set_of(3, 4, 2)
    [3, 0]
    """
    members, c, i = [], n_items - 1, size
    ways = comb(c, i) if size else 0  # C(c, i) throughout, without a new product each time
    while i:
        if ways > rank:
            c, ways = c - 1, ways * (c - i) // c
        else:
            members.append(c)
            rank -= ways
            c, i, ways = c - 1, i - 1, ways * i // c if ways else 0  # C(c, i) = 0 stays 0 for all that follow
    return members


def rank_over_gf2(vectors: list[int]) -> int:
    """Return the rank of vectors over GF(2), by elimination.

    >>> rank_over_gf2([0b011, 0b101, 0b110])
    2
    """
    by_length: dict[int, int] = {}
    for vector in vectors:
        left = vector
        while left and left.bit_length() in by_length:
            left ^= by_length[left.bit_length()]
        if left:
            by_length[left.bit_length()] = left
    return len(by_length)

package pool

import (
	"iter"
	"math/bits"
)

// agentSet is a set of agent numbers, stored as a bitmap and walked in ascending order.
type agentSet []uint64

func (s *agentSet) add(agent int) {
	for len(*s) <= agent/64 {
		*s = append(*s, 0)
	}
	(*s)[agent/64] |= 1 << (agent % 64)
}

func (s agentSet) remove(agent int) { s[agent/64] &^= 1 << (agent % 64) }

// all returns an iterator over the set, which must not change meanwhile.
func (s agentSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

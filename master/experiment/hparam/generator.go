package hparam

import "fmt"

// Generator is the Mersenne Twister MT19937 with the seeding and the distributions of NumPy's
// RandomState, so that a seed yields the same trials as on a Determined cluster.
type Generator struct {
	key [words]uint32
	pos int
	// drawn counts the words drawn since the seed.
	drawn uint64
}

// The constants of MT19937.
const (
	words     = 624
	shift     = 397
	twist     = 0x9908b0df
	upperBit  = 0x80000000
	lowerBits = 0x7fffffff
	spread    = 1812433253
)

// NewGenerator returns a generator that is seeded with seed.
func NewGenerator(seed uint32) *Generator {
	g := &Generator{pos: words}
	for i := range g.key {
		g.key[i] = seed
		seed = spread*(seed^(seed>>30)) + uint32(i) + 1
	}
	return g
}

// AdvanceTo discards words until drawn words have been drawn since the seed.
func (g *Generator) AdvanceTo(drawn uint64) {
	for g.drawn < drawn {
		g.nextWord()
	}
}

func (g *Generator) refillWords() {
	for i := range g.key {
		y := g.key[i]&upperBit | g.key[(i+1)%words]&lowerBits
		g.key[i] = g.key[(i+shift)%words] ^ y>>1 ^ -(y&1)&twist
	}
	g.pos = 0
}

func (g *Generator) nextWord() uint32 {
	if g.pos == words {
		g.refillWords()
	}
	y := g.key[g.pos]
	g.pos++
	g.drawn++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (g *Generator) nextWords() uint64 {
	high := uint64(g.nextWord())
	return high<<32 | uint64(g.nextWord())
}

// UpTo returns an integer between 0 and limit. It masks the bits above the highest bit of limit and
// draws again while the result is above limit. For limit 0 it draws nothing.
func (g *Generator) UpTo(limit uint64) uint64 {
	if limit == 0 {
		return 0
	}
	mask := limit
	for n := 1; n < 64; n *= 2 {
		mask |= mask >> n
	}
	for {
		v := mask
		if limit <= 1<<32-1 {
			v &= uint64(g.nextWord())
		} else {
			v &= g.nextWords()
		}
		if v <= limit {
			return v
		}
	}
}

// drawUnit returns a real number of 53 bits in [0, 1).
func (g *Generator) drawUnit() float64 {
	high, low := float64(g.nextWord()>>5), float64(g.nextWord()>>6)
	return (high*(1<<26) + low) / (1 << 53)
}

// drawBetween returns a real number in [low, high).
func (g *Generator) drawBetween(low, high float64) float64 {
	return low + (high-low)*g.drawUnit()
}

// Drawn returns the number of words drawn since the seed.
func (g *Generator) Drawn() uint64 { return g.drawn }

// Clone returns a generator with the same state.
func (g *Generator) Clone() *Generator {
	c := *g
	return &c
}

// DrawID returns a version 4 UUID from the next 16 bytes.
func (g *Generator) DrawID() string {
	var b [16]byte
	g.fillBytes(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// DrawSeed returns the seed of a trial, which is below 2³¹.
func (g *Generator) DrawSeed() uint32 { return uint32(g.UpTo(1<<31 - 1)) }

// fillBytes fills b with random bytes, the lowest byte of each word first.
func (g *Generator) fillBytes(b []byte) {
	var word uint32
	for i := range b {
		if i%4 == 0 {
			word = g.nextWord()
		}
		b[i] = byte(word)
		word >>= 8
	}
}

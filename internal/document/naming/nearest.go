package naming

import (
	"strings"
	"unicode"
)

// Nearest returns the known key that is most similar to key, or "" if none is similar.
func Nearest(key string, known []string) string {
	best, bestAt := "", max(2, len(key)/3)+1
	joined := joinWords(key)
	for _, k := range known {
		if d := Distance(joined, joinWords(k)); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// joinWords normalizes maxInstances, max-instances and max_instances to the same word.
func joinWords(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// Distance returns the number of insertions, deletions and substitutions between a and b (the
// Levenshtein distance). It compares only the first 64 bytes.
func Distance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

package spec

import (
	"math"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Size is a number of bytes, written as a number or with a unit of 1024 that may follow a fraction:
// "1.5g", "512MiB", 1073741824.
type Size int64

// UnmarshalDocument reads either form.
func (s *Size) UnmarshalDocument(v document.Value) {
	n, ok := ParseSize(v.Text())
	if !v.IsText() || !ok {
		v.Complain("must be more than 0 bytes, written as a number or with a unit, as in 512m or 1.5g", "")
		return
	}
	*s = n
}

// MarshalDocument returns the bytes.
func (s Size) MarshalDocument() any { return int64(s) }

// DocumentShape names the written form.
func (Size) DocumentShape() string { return "bytes, or text such as 1.5g" }

// ParseSize parses a size, and reports whether it is valid.
func ParseSize(text string) (s Size, ok bool) {
	t := strings.ToLower(strings.TrimSpace(text))
	t = strings.TrimSuffix(strings.TrimSuffix(t, "b"), "i")
	unit := 1.0
	if t != "" {
		if at := strings.IndexByte("kmgtp", t[len(t)-1]); at >= 0 {
			unit, t = math.Pow(1024, float64(at+1)), strings.TrimSpace(t[:len(t)-1])
		}
	}
	if strings.Trim(t, "0123456789.") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(t, 64)
	// Larger sizes exceed any memory, and could overflow an int64.
	if f *= unit; err != nil || f < 1 || f > 1<<62 {
		return 0, false
	}
	return Size(f), true
}

package config

import (
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/document"
)

// Bytes is a number of bytes, which may be written with a unit: "4g", "512MiB".
type Bytes int64

// UnmarshalDocument reads a number or a text with a unit of 1024.
func (b *Bytes) UnmarshalDocument(v document.Value) {
	if !v.IsText() {
		v.Complain("must be a number of bytes or a text such as 4g", "")
		return
	}
	n, ok := parseBytes(v.Text())
	if !ok {
		v.Complain("must be more than 0 bytes, written as a number or with a unit, as in 512m or 4g", "")
		return
	}
	*b = n
}

// DocumentShape names the written form.
func (Bytes) DocumentShape() string { return "bytes, or text such as 4g" }

func parseBytes(text string) (Bytes, bool) {
	s := strings.ToLower(strings.TrimSpace(text))
	s = strings.TrimSuffix(strings.TrimSuffix(s, "b"), "i")
	shift := 0
	if s != "" {
		if at := strings.IndexByte("kmgt", s[len(s)-1]); at >= 0 {
			shift, s = 10*(at+1), s[:len(s)-1]
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if err != nil || n <= 0 || n > (1<<62)>>shift {
		return 0, false
	}
	return Bytes(n << shift), true
}

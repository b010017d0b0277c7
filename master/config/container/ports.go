package container

import (
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/internal/document"
)

// portRange checks a range "min:max". An empty range is valid.
func portRange(path, value string) document.Errors {
	var e document.Errors
	if value == "" {
		return nil
	}
	low, high, found := strings.Cut(value, ":")
	from, err1 := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	e.Check(found && err1 == nil && err2 == nil && from > 0 && from <= to && to <= 65535, path,
		"must be min:max with ports between 1 and 65535 (is %q)", value)
	return e
}

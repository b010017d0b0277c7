package directory

import (
	"fmt"
	"slices"
	"strings"
)

// LeftOut counts the entries of a directory that are not sent.
type LeftOut struct {
	files, directories int
	names              []string // the first ones, without duplicates
}

// mostNames is the number of names in a message.
const mostNames = 3

func (l *LeftOut) add(path string, directory bool) {
	if directory {
		l.directories++
	} else {
		l.files++
	}
	name := path[strings.LastIndex(path, "/")+1:]
	if !slices.Contains(l.names, name) && len(l.names) <= mostNames {
		l.names = append(l.names, name)
	}
}

// String describes the entries, or returns "" if there are none.
func (l LeftOut) String() string {
	if l.files+l.directories == 0 {
		return ""
	}
	var counts []string
	if l.directories > 0 {
		counts = append(counts, counted(l.directories, "directory", "directories"))
	}
	if l.files > 0 {
		counts = append(counts, counted(l.files, "file", "files"))
	}
	names := l.names
	if len(names) > mostNames {
		names = append(slices.Clone(names[:mostNames]), "…")
	}
	return fmt.Sprintf("Left out %s (%s); .detignore changes that.", strings.Join(counts, " and "), strings.Join(names, ", "))
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

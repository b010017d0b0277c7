package archive

import (
	"errors"
	"strings"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestPackRejectsUnusablePaths(t *testing.T) {
	t.Parallel()
	file := func(path string) *apiv1.File { return &apiv1.File{Path: path, Type: '0', Content: []byte("x")} }
	dir := func(path string) *apiv1.File { return &apiv1.File{Path: path, Type: '5'} }
	for name, row := range map[string]struct {
		files []*apiv1.File
		path  string // of the rejected file, empty for none
		want  string
	}{
		"a file and a directory of one name": {[]*apiv1.File{file("a"), dir("a")}, "a", "as a file and as a directory"},
		"the other way round":                {[]*apiv1.File{dir("a/"), file("a")}, "a", "as a file and as a directory"},
		"a file below a file":                {[]*apiv1.File{file("a"), file("a/b/c")}, "a/b/c", `below "a"`},
		"a file where others are below":      {[]*apiv1.File{file("a/b"), file("a")}, "a", "as a file and as a directory"},
		"a file twice":                       {[]*apiv1.File{file("a"), file("./a")}, "./a", "sent twice"},
		"no name":                            {[]*apiv1.File{file("")}, "", "has no name"},
		"the directory itself as a file":     {[]*apiv1.File{file(".")}, ".", "cannot be a file"},
		"a name of 300 characters":           {[]*apiv1.File{file("d/" + strings.Repeat("n", 300))}, "d/" + strings.Repeat("n", 300), "a name of 300 bytes"},
		"a path of 4,000 characters":         {[]*apiv1.File{file(strings.Repeat("d/", 2000) + "n")}, strings.Repeat("d/", 2000) + "n", "a path of 4001 bytes"},
		"two dots that lead back inside":     {[]*apiv1.File{file("a/../b")}, "a/../b", "must not contain .."},
		"an absolute path":                   {[]*apiv1.File{file("/a")}, "/a", "must be a relative path"},
		"a directory twice is one":           {[]*apiv1.File{dir("a"), dir("a/"), file("a/b"), dir("."), dir("./")}, "", ""},
		"three dots are a name":              {[]*apiv1.File{file("...")}, "", ""},
		"255 bytes are a name":               {[]*apiv1.File{file(strings.Repeat("n", 255))}, "", ""},
	} {
		_, err := pack(row.files)
		if row.want == "" {
			if err != nil {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		wrong, is := errors.AsType[*PathError](err)
		if !is || wrong.Path != row.path || !strings.Contains(wrong.Reason, row.want) {
			t.Errorf("%s: got %v, want %q about %.70q", name, err, row.want, row.path)
		}
		if is && len(err.Error()) > 400 {
			t.Errorf("%s: got %d bytes", name, len(err.Error()))
		}
	}
}

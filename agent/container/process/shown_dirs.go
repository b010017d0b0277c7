package process

import (
	"errors"
	"os"
)

// shownDirs are the directories of a layout, open: they are found when their paths are covered.
type shownDirs struct{ root, home, info, tmp *os.File }

// open opens those that the layout has. What it returns has to be closed, also after an error.
func (l layout) open() (s shownDirs, err error) {
	for _, d := range []struct {
		to *(*os.File)
		at string
	}{{&s.root, l.root}, {&s.home, l.home()}, {&s.info, l.info}, {&s.tmp, l.tmp}} {
		if d.at == "" {
			continue
		}
		var oerr error
		if *d.to, oerr = openPath(d.at); oerr != nil {
			err = errors.Join(err, oerr)
		}
	}
	return s, err
}

func (s shownDirs) close() {
	for _, f := range []*os.File{s.root, s.home, s.info, s.tmp} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// layout is where another finds its directories now.
func (s shownDirs) layout(of layout) layout {
	path := func(f *os.File) string {
		if f == nil {
			return ""
		}
		return fdPath(f)
	}
	of.root, of.disk, of.info = path(s.root), path(s.home), path(s.info)
	return of
}

package lab

import (
	"bufio"
	"cmp"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is one line of /proc/self/mountinfo.
type mount struct{ point, fstype, options string }

func mounts() []mount {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it was only read
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`)
	var out []mount
	for s := bufio.NewScanner(f); s.Scan(); {
		where, what, ok := strings.Cut(s.Text(), " - ")
		a, b := strings.Fields(where), strings.Fields(what)
		if ok && len(a) >= 5 && len(b) >= 3 {
			out = append(out, mount{point: unescape.Replace(a[4]), fstype: b[0], options: b[2]})
		}
	}
	return out
}

// mountsBelow returns the mount points in a directory, the deepest first.
func mountsBelow(dir string) []string {
	var out []string
	for _, m := range mounts() {
		if strings.HasPrefix(m.point, dir+"/") {
			out = append(out, m.point)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return out
}

// unmountBelow unmounts everything in a directory. Some mounts become visible only when those above
// them are unmounted, so it repeats three times.
func unmountBelow(dir string) {
	for range 3 {
		points := mountsBelow(dir)
		for _, p := range points {
			unix.Unmount(p, unix.MNT_DETACH) //nolint:errcheck // the caller detects remaining mounts
		}
		if len(points) == 0 {
			return
		}
	}
}

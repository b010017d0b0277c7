package process

import (
	"errors"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// stamps are what the kernel says of a directory and of those that are kept in it: which they are, and
// when they were last changed. Only the kernel sets that time, also when a mode, an owner or an
// attribute changes. The zero stamps are those of no directory.
type stamps [1 + len(keptDirs)]struct {
	inode   uint64
	changed unix.Timespec
	mode    uint32
}

// settledAfter is how long ago a directory has to have been changed so that a change after this has another
// time: that of the kernel goes in steps of 10 ms at most, but ext3 and an ext4 with inodes of 128 bytes
// keep whole seconds, and others two.
const settledAfter = 3 * time.Second

// empty is emptyFiles for a directory that had these stamps when it was empty. With the same there is
// nothing to do: what was made in it since, there or below, has changed one of them. It
// returns what it has now, or zero stamps where that says nothing of what comes.
func (s stamps) empty(at string, now time.Time) (stamps, error) {
	if found, err := stampsOf(at); err == nil && s == found && s != (stamps{}) {
		return s, nil
	}
	if err := emptyFiles(at); err != nil {
		return stamps{}, err
	}
	found, err := stampsOf(at)
	if err != nil || !found.areSettled(now) {
		return stamps{}, nil //nolint:nilerr // the next time all of it is looked at again
	}
	return found, nil
}

// stampsOf does not have those that are not there.
func stampsOf(at string) (s stamps, err error) {
	for i := range s {
		name := at
		if i > 0 {
			name = filepath.Join(at, keptDirs[i-1])
		}
		var st unix.Stat_t
		err := unix.Lstat(name, &st)
		if i > 0 && errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return stamps{}, err
		}
		s[i].inode, s[i].changed, s[i].mode = st.Ino, st.Ctim, st.Mode
	}
	return s, nil
}

// areSettled says whether all was changed long before a time.
func (s stamps) areSettled(now time.Time) bool {
	for _, of := range s {
		if !time.Unix(of.changed.Unix()).Before(now.Add(-settledAfter)) {
			return false
		}
	}
	return true
}

package rootfs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// standIn puts in the place of a directory a read-only one with the same entries and
// with what is missing.
func (s *steps) standIn(dir, stage string, missing []site) error {
	target := filepath.Join(stage, dir)
	options, err := tmpfsOptions(dir)
	if err != nil {
		return err
	}
	s.mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	if dir == "/" {
		// Otherwise a copy of what the stage is in would have the stage in it.
		s.mount("", target, "", unix.MS_UNBINDABLE, "")
	}
	made := map[string]bool{}
	for _, m := range missing {
		s.makePath(target, m, made)
	}
	if err := s.copyEntries(dir, target, made); err != nil {
		return err
	}
	s.mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
	return nil
}

// tmpfsOptions let others do with the stand-in what they may do with the directory. In a
// user namespace there is no other owner.
func tmpfsOptions(dir string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", fmt.Errorf("look at %s: %w", dir, err)
	}
	options := fmt.Sprintf("mode=%o", st.Mode&0o1777)
	if os.Geteuid() == 0 {
		options += fmt.Sprintf(",uid=%d,gid=%d", st.Uid, st.Gid)
	}
	return options, nil
}

// makePath makes what is missing, and the directories on the way there.
func (s *steps) makePath(target string, m site, made map[string]bool) {
	parts := strings.Split(m.missing, "/")
	for i := range parts {
		name := path.Join(parts[:i+1]...)
		if made[name] {
			continue
		}
		made[name] = true
		if i < len(parts)-1 || m.isDir {
			s.mkdir(filepath.Join(target, name))
		} else {
			s.mkfile(filepath.Join(target, name))
		}
	}
}

// copyEntries shows what is in a directory in another, without what was made there. What
// cannot be shown, or has gone meanwhile, is empty.
func (s *steps) copyEntries(dir, target string, made map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s: %w", dir, err)
	}
	for _, e := range entries {
		from, to := filepath.Join(dir, e.Name()), filepath.Join(target, e.Name())
		switch {
		case made[e.Name()]:
			continue
		case e.Type()&os.ModeSymlink != 0:
			if link, err := os.Readlink(from); err == nil {
				s.symlink(link, to)
			}
			continue
		case e.IsDir():
			s.mkdir(to)
		default:
			s.mkfile(to)
		}
		s.mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
		s.last().optional = true
	}
	return nil
}

package master

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Pages is the memory of a process in bytes, as the kernel reports it.
type Pages struct {
	// Resident is the resident set.
	Resident int64
	// Made is the memory that the process has allocated.
	Made int64
	// Private is the memory that no other process maps: Made, and pages of files that only this
	// process has mapped.
	Private int64
	// Proportional is Private and a share of the pages that several processes map.
	Proportional int64
}

// Most returns the larger of each figure.
func (p Pages) Most(q Pages) Pages {
	return Pages{
		Resident: max(p.Resident, q.Resident), Made: max(p.Made, q.Made),
		Private: max(p.Private, q.Private), Proportional: max(p.Proportional, q.Proportional),
	}
}

// Pages returns the memory of the master.
func (m *Master) Pages() (Pages, error) { return PagesOf(m.cmd.Process.Pid) }

// PagesOf returns the memory of a process.
func PagesOf(pid int) (Pages, error) {
	var p Pages
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return p, err
	}
	sums := map[string]*int64{
		"Rss": &p.Resident, "Anonymous": &p.Made, "Pss": &p.Proportional,
		"Private_Clean": &p.Private, "Private_Dirty": &p.Private,
	}
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		key, value, _ := strings.Cut(s.Text(), ":")
		sum, found := sums[key]
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		if err != nil {
			return p, err
		}
		*sum += n << 10
	}
	if p.Resident == 0 {
		return p, errors.New("the kernel does not say what memory a process has")
	}
	return p, nil
}

// StoreSize returns the size of the embedded database's files in bytes.
func (m *Master) StoreSize() (sum int64, err error) {
	found, err := filepath.Glob(filepath.Join(m.Dir, "master", "master.db*"))
	for _, name := range found {
		info, serr := os.Stat(name)
		if serr != nil {
			return 0, serr
		}
		sum += info.Size()
	}
	return sum, err
}

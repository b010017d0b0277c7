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

// Pages is the memory of a process in bytes, from the kernel.
type Pages struct {
	// Resident is all that is in memory.
	Resident int64
	// Made is what the process has made itself.
	Made int64
	// Private is what no other process has: what it has made, and pages of files that it
	// alone has mapped.
	Private int64
	// Proportional is Private and a share of what several processes have mapped.
	Proportional int64
}

// Most is the larger of each.
func (p Pages) Most(q Pages) Pages {
	return Pages{
		Resident: max(p.Resident, q.Resident), Made: max(p.Made, q.Made),
		Private: max(p.Private, q.Private), Proportional: max(p.Proportional, q.Proportional),
	}
}

// Pages reads what the kernel says of the master's memory.
func (m *Master) Pages() (Pages, error) { return PagesOf(m.cmd.Process.Pid) }

// PagesOf reads what the kernel says of a process' memory.
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

// StoreSize is the bytes of the files of the embedded database.
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

package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findNamed finds the disk that Google attached under a name: by the link that the rules of
// Google's images make, and on other images by what the disk says of itself.
func (v Volume) findNamed() (disk string, found bool, err error) {
	disk, err = filepath.EvalSymlinks(filepath.Join(v.devDir(), "disk/by-id", "google-"+v.Name))
	if err == nil {
		return disk, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("find volume %s: %w", v.Name, err)
	}
	entries, err := os.ReadDir(filepath.Join(v.sysDir(), "block"))
	if err != nil {
		return "", false, fmt.Errorf("find volume %s: %w", v.Name, err)
	}
	for _, e := range entries {
		if name, ok := v.nameOf(e.Name()); ok && name == v.Name {
			return filepath.Join(v.devDir(), e.Name()), true, nil
		}
	}
	return "", false, nil
}

// nameOf is the name that Google has for a disk of the machine's.
func (v Volume) nameOf(block string) (name string, ok bool) {
	if strings.HasPrefix(block, "nvme") {
		// A controller that is not Google's, or no disk, is not the volume.
		data, err := identifyNamespace(filepath.Join(v.devDir(), block))
		if err != nil {
			return "", false
		}
		return nvmeName(data)
	}
	device := filepath.Join(v.sysDir(), "block", block, "device")
	vendor, err := os.ReadFile(filepath.Join(device, "vendor"))
	if err != nil || strings.TrimSpace(string(vendor)) != "Google" {
		return "", false
	}
	page, err := os.ReadFile(filepath.Join(device, "vpd_pg83"))
	if err != nil {
		return "", false
	}
	return scsiName(page)
}

// scsiName reads a disk's name off its page of vital product data 0x83, "device
// identification" of SCSI's SPC-4, 7.8.6: a designator of the vendor's own.
func scsiName(page []byte) (name string, ok bool) {
	const header, vendorSpecific, association = 4, 0x0, 0x30
	if len(page) < header {
		return "", false
	}
	for rest := page[header:]; len(rest) >= header; {
		size := header + int(rest[3])
		if size > len(rest) {
			break
		}
		if kind := rest[1] & 0xf; kind == vendorSpecific && rest[1]&association == 0 {
			return strings.Trim(string(rest[header:size]), " \x00"), true
		}
		rest = rest[size:]
	}
	return "", false
}

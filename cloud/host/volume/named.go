package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findNamed finds a disk by the device name that was set when it was attached on Google Cloud. It
// uses the link created by the udev rules of Google's images or, on other images, the name reported
// by the disk.
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

// nameOf returns the Google Cloud device name of a block device.
func (v Volume) nameOf(block string) (name string, ok bool) {
	if strings.HasPrefix(block, "nvme") {
		// A controller of another vendor or a failed query is not the volume.
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

// scsiName returns the disk name in a vital product data page 0x83, "device identification" (SCSI
// SPC-4, 7.8.6): a vendor-specific designator.
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

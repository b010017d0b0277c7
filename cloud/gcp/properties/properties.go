// Package properties parses and validates instance properties in the JSON form of Compute Engine's
// InstanceProperties.
package properties

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// Problem is a validation error at one path.
type Problem struct {
	// Path is the location within the properties: "disks[0].autoDelete".
	Path string
	// Text is the violated rule and the value found.
	Text string
	// Hint suggests a correction. It may be empty.
	Hint string
}

// String formats the problem as "disks[0].autoDelet: unknown key (did you mean autoDelete?)".
func (p Problem) String() string {
	s := p.Text
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// Problems lists validation errors in the order of the fields in Google's API.
type Problems []Problem

// Error formats one problem per line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Parse parses instance properties from JSON. Empty input yields empty properties. Strings are
// accepted for numbers and numbers for strings. It returns Problems if the input is invalid.
func Parse(data []byte) (*compute.InstanceProperties, error) {
	out := new(compute.InstanceProperties)
	if len(data) == 0 {
		return out, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var raw any
	if err := dec.Decode(&raw); err != nil {
		return nil, Problems{{Text: fmt.Sprintf("is not JSON: %v", err)}}
	}
	r := new(reader)
	r.readValue(raw, reflect.ValueOf(out).Elem(), "")
	if len(r.problems) == 0 {
		r.problems = append(checkDisks(out.Disks), checkSources(out)...)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return out, nil
}

// checkDisks reports additional boot disks. The pool's boot_disk settings define the only boot
// disk.
func checkDisks(disks []*compute.AttachedDisk) Problems {
	var out Problems
	for i, d := range disks {
		if d.Boot {
			out = append(out, Problem{
				fmt.Sprintf("disks[%d].boot", i), "must be false: a machine has one boot disk, the first one",
				"use boot_disk_size, boot_disk_type and boot_disk_source_image",
			})
		}
	}
	return out
}

// checkSources reports disks in different zones, because an instance can attach zonal disks of its
// own zone only.
func checkSources(p *compute.InstanceProperties) Problems {
	if zones := Zones(p); len(zones) > 1 {
		return Problems{{"disks", "are in several zones, but a machine is in one: " + strings.Join(zones, ", "), ""}}
	}
	return nil
}

// Zones returns the sorted zones of the existing disks that properties attach. An instance must be
// created in the zone of its disks.
func Zones(p *compute.InstanceProperties) []string {
	var out []string
	for _, d := range p.Disks {
		if zone, found := zoneOf(d.Source); found && !slices.Contains(out, zone) {
			out = append(out, zone)
		}
	}
	slices.Sort(out)
	return out
}

// zoneOf returns the zone in a full or partial resource URL: "zones/us-west1-b/disks/data".
func zoneOf(link string) (zone string, found bool) {
	for dir := link; len(dir) > 1; dir = path.Dir(dir) {
		if path.Base(path.Dir(dir)) == "zones" {
			return path.Base(dir), true
		}
	}
	return "", false
}

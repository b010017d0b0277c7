// Package properties reads what a person says of a machine in Google's own form: the
// InstanceProperties of Compute Engine.
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

// Problem is one complaint about one place.
type Problem struct {
	// Path names the place below the properties: "disks[0].autoDelete".
	Path string
	// Text is the rule that is broken, with what was found.
	Text string
	// Hint is what to write instead; it may be empty.
	Hint string
}

// String reads as "disks[0].autoDelet: unknown key (did you mean autoDelete?)".
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

// Problems is every complaint, in the order in which Google's form has the keys.
type Problems []Problem

// Error prints one complaint a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Parse reads properties from JSON; nothing is a machine of which nothing is said. A
// number may stand where Google wants text and the other way round. The error is
// Problems.
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

// checkDisks refuses a second boot disk. The first is what the other settings say.
func checkDisks(disks []*compute.AttachedDisk) Problems {
	var out Problems
	for i, d := range disks {
		if d.Boot {
			out = append(out, Problem{
				fmt.Sprintf("disks[%d].boot", i), "must be false: a machine has one boot disk, which is always the first",
				"describe it with boot_disk_size, boot_disk_type and boot_disk_source_image",
			})
		}
	}
	return out
}

// checkSources refuses disks of several zones: no machine could have all of them.
func checkSources(p *compute.InstanceProperties) Problems {
	if zones := Zones(p); len(zones) > 1 {
		return Problems{{"disks", "are in several zones, and a machine is in one: " + strings.Join(zones, ", "), ""}}
	}
	return nil
}

// Zones are the zones that the disks of a machine are in, sorted. It can be in no other.
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

// zoneOf is the zone in a full or partial link: "zones/us-west1-b/disks/data".
func zoneOf(link string) (zone string, found bool) {
	for dir := link; len(dir) > 1; dir = path.Dir(dir) {
		if path.Base(path.Dir(dir)) == "zones" {
			return path.Base(dir), true
		}
	}
	return "", false
}

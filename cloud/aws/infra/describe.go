package infra

import (
	"fmt"
	"strconv"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// What a plan shows of what is created, beyond its name.
var (
	_ resource.Described = (*Master)(nil)
	_ resource.Described = (*Volume)(nil)
	_ resource.Described = (*VPC)(nil)
	_ resource.Described = (*Subnet)(nil)
	_ resource.Described = (*Rules)(nil)
	_ resource.Described = (*LogGroup)(nil)
	_ resource.Described = (*Bucket)(nil)
	_ resource.Described = (*SpotRole)(nil)
)

// Describe is its type, image and disk, and who may log in.
func (m *Master) Describe() []string {
	out := []string{fmt.Sprintf("%s, %s, root volume of %s gp3", m.Type, m.Image, gib(m.RootGiB))}
	if m.KeyPair != "" {
		out = append(out, "key pair "+m.KeyPair)
	}
	return out
}

// Describe is its size, type and zone.
func (v *Volume) Describe() []string {
	text := fmt.Sprintf("%s gp3, encrypted, in %s", gib(v.SizeGiB), v.Zone)
	if v.Snapshot != "" {
		text += ", from " + v.Snapshot
	}
	return []string{text}
}

// Describe is its range.
func (v *VPC) Describe() []string { return []string{v.CIDR.String()} }

// Describe is its range and zone.
func (s *Subnet) Describe() []string { return []string{s.CIDR.String() + " in " + s.Zone} }

// Describe is what is let in, a port and a source each.
func (r *Rules) Describe() []string {
	out := make([]string, len(r.Ingress))
	for i, rule := range r.Ingress {
		out[i] = "lets in " + rule.words() + ": " + rule.Why
	}
	return out
}

// words is a rule for people, before the groups that it names are there.
func (r Rule) words() string {
	port := "everything"
	if r.Port != 0 {
		port = "TCP " + strconv.Itoa(int(r.Port))
	}
	if r.From.IsValid() {
		return port + " from " + r.From.Masked().String()
	}
	if id := r.Group.ID(); id != "" {
		return port + " from " + id
	}
	return port + " from " + r.Group.Identity()
}

// Describe is how long lines are kept.
func (l *LogGroup) Describe() []string {
	days := "for ever"
	if l.Days > 0 {
		days = fmt.Sprintf("for %d days", l.Days)
	}
	return []string{LogGroupName(l.In.ID) + ", lines are kept " + days}
}

// Describe is its name.
func (b *Bucket) Describe() []string {
	if b.Versioning {
		return []string{b.name() + ", encrypted, private, versioned"}
	}
	return []string{b.name() + ", encrypted, private"}
}

package provider

import (
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Hints for keys that have lost the key above them.
const (
	lostDisks    = "belongs to a disk: write base_config: and below it disks: above the list that it is in"
	lostBase     = "belongs to base_config: write that key above it"
	lostProvider = "belongs to provider: write that key above it"
)

var _ document.KeyAdviser = (*GCP)(nil)

// AdviseKey implements document.KeyAdviser for keys that belong to base_config.
func (p *GCP) AdviseKey(key string) string {
	switch {
	case document.HasKey(*p, key):
		return ""
	case properties.IsProperty(key):
		return lostBase
	case properties.IsDiskProperty(key):
		return lostDisks
	}
	return ""
}

// AdviseKey returns a hint for a provider's key in another place, or "" for other keys.
func AdviseKey(key string) string {
	if key == "type" || document.HasKey(AWS{}, key) || document.HasKey(GCP{}, key) || document.HasKey(Local{}, key) {
		return lostProvider
	}
	return ""
}

// AdviseList returns a hint for a list that has no key, from the first key of its first item, or ""
// for other lists.
func AdviseList(key string) string {
	if properties.IsDiskProperty(key) && !properties.IsProperty(key) {
		return "write base_config: and below it disks: above the list"
	}
	return ""
}

package provider

import (
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/internal/document"
)

// What is said to those who have lost a line above another.
const (
	lostDisks    = "belongs to a disk: write base_config: and below it disks: above the list that it is in"
	lostBase     = "belongs to base_config: write that key above it"
	lostProvider = "belongs to provider: write that key above it"
)

var _ document.KeyAdviser = (*GCP)(nil)

// AdviseKey implements document.KeyAdviser, for what belongs to base_config.
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

// AdviseKey is for who finds a key of a provider elsewhere. It is empty for others.
func AdviseKey(key string) string {
	if key == "type" || document.HasKey(AWS{}, key) || document.HasKey(GCP{}, key) || document.HasKey(Local{}, key) {
		return lostProvider
	}
	return ""
}

// AdviseList is for who finds a list without a key of its own, by the first key of its
// first item. It is empty for lists of others.
func AdviseList(key string) string {
	if properties.IsDiskProperty(key) && !properties.IsProperty(key) {
		return "write base_config: and below it disks: above the list"
	}
	return ""
}

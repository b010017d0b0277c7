package provider

import (
	"github.com/det-deploy/det-deploy/internal/document"
)

// Spot configures the use of spot instances: true, false, or an object, which means true.
type Spot struct {
	Enabled            bool
	FallbackToOnDemand bool
	MaxPrice           string
}

type spotObject struct {
	FallbackToOnDemand bool   `yaml:"fallback_to_on_demand"`
	MaxPrice           string `yaml:"max_price"`
}

// UnmarshalDocument reads a boolean or an object.
func (s *Spot) UnmarshalDocument(v document.Value) {
	if v.IsText() {
		var on bool
		if v.Decode(&on) {
			*s = Spot{Enabled: on}
		}
		return
	}
	var o spotObject
	if v.Decode(&o) {
		*s = Spot{Enabled: true, FallbackToOnDemand: o.FallbackToOnDemand, MaxPrice: o.MaxPrice}
	}
}

// MarshalDocument returns the shortest form.
func (s Spot) MarshalDocument() any {
	if s.FallbackToOnDemand || s.MaxPrice != "" {
		return spotObject{FallbackToOnDemand: s.FallbackToOnDemand, MaxPrice: s.MaxPrice}
	}
	return s.Enabled
}

// DocumentShape implements document.Shaper.
func (Spot) DocumentShape() string { return "true, false, or {fallback_to_on_demand, max_price}" }

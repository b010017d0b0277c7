package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/det-deploy/det-deploy/cloud"
)

// KnownSetting is the name under which what is known of a cluster is remembered.
const KnownSetting = "resolved"

// ReadKnown reads what Remember wrote.
func ReadKnown[T any](settings map[string]string) (T, error) {
	var known, none T
	if settings[KnownSetting] == "" {
		return none, nil
	}
	if err := json.Unmarshal([]byte(settings[KnownSetting]), &known); err != nil {
		return none, fmt.Errorf("read what is known of the cluster: %w", err)
	}
	return known, nil
}

// Remember is settings with what is known, for the record.
func Remember(settings map[string]string, known any) (map[string]string, error) {
	data, err := json.Marshal(known)
	if err != nil {
		return nil, fmt.Errorf("write what is known of the cluster: %w", err)
	}
	out := maps.Clone(settings)
	if out == nil {
		out = make(map[string]string, 1)
	}
	out[KnownSetting] = string(data)
	return out, nil
}

// Recovered is what could be read back of a cluster whose record is lost.
type Recovered struct {
	// Settings is what the record would say.
	Settings map[string]string
	// Whole is true when they are a copy, and false when they were read off live
	// objects: those do not tell of pools, nor of anything that only configuration
	// has.
	Whole bool
}

// ReadCopy reads a cluster's settings back from the copy in the control bucket,
// where there is one. It changes nothing.
func (c *Cluster) ReadCopy(ctx context.Context) (r Recovered, found bool, err error) {
	o, err := c.Objects.Get(ctx, settingsKey)
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return Recovered{}, false, nil
	case err != nil:
		return Recovered{}, false, fmt.Errorf("read the copy of the cluster's settings: %w", err)
	}
	r.Whole = true
	if err := json.Unmarshal(o.Data, &r.Settings); err != nil {
		return Recovered{}, false, fmt.Errorf("read the copy of the cluster's settings: %w", err)
	}
	return r, true, nil
}

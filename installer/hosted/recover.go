package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/det-deploy/det-deploy/cloud"
)

// KnownSetting is the setting that records the resolved facts of a cluster.
const KnownSetting = "resolved"

// ReadKnown reads the facts that Remember has written.
func ReadKnown[T any](settings map[string]string) (T, error) {
	var known, none T
	if settings[KnownSetting] == "" {
		return none, nil
	}
	if err := json.Unmarshal([]byte(settings[KnownSetting]), &known); err != nil {
		return none, fmt.Errorf("decode the resolved settings of the cluster: %w", err)
	}
	return known, nil
}

// Remember returns settings with the resolved facts, for the record.
func Remember(settings map[string]string, known any) (map[string]string, error) {
	data, err := json.Marshal(known)
	if err != nil {
		return nil, fmt.Errorf("encode the resolved settings of the cluster: %w", err)
	}
	out := maps.Clone(settings)
	if out == nil {
		out = make(map[string]string, 1)
	}
	out[KnownSetting] = string(data)
	return out, nil
}

// Recovered holds the settings of a cluster whose record was lost.
type Recovered struct {
	// Settings are those for the new record.
	Settings map[string]string
	// Whole reports that Settings are a full copy. If it is false, they were read from live
	// objects, which do not show pools or other values of the configuration.
	Whole bool
}

// ReadCopy reads the settings from the copy in the control bucket. It changes nothing.
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

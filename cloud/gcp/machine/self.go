package machine

import (
	"context"
	"path"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// self is which machine this is.
type self struct {
	project, zone, name string
	// id is Google's number of it.
	id string
}

// readSelf asks the metadata server which machine this is.
func readSelf(ctx context.Context, m metadata.Server) (self, error) {
	var s self
	for key, into := range map[string]*string{
		"project/project-id": &s.project, "instance/zone": &s.zone, "instance/name": &s.name, "instance/id": &s.id,
	} {
		text, err := m.Read(ctx, key)
		if err != nil {
			return self{}, err
		}
		*into = text
	}
	s.zone = path.Base(s.zone) // "projects/415104041262/zones/us-central1-a"
	return s, nil
}

// region is that of the zone: "us-central1".
func (s self) region() string { return s.zone[:max(0, strings.LastIndexByte(s.zone, '-'))] }

// monitored are the labels by which Logging and Monitoring know a machine.
// https://cloud.google.com/monitoring/api/resources#tag_gce_instance
func (s self) monitored() map[string]string {
	return map[string]string{"project_id": s.project, "instance_id": s.id, "zone": s.zone}
}

// monitoredType is their word for a machine.
const monitoredType = "gce_instance"

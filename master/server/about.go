package server

import (
	"context"
	"encoding/json"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// clusterCalls serves the calls about the master and its cluster.
type clusterCalls struct{ *shared }

func (k *clusterCalls) routes() []route {
	list := []route{
		getRoute("master", open, plainCall(k.master)),
		getRoute("master/telemetry", open, plainCall(k.telemetry)),
		getRoute("master/config", admin, plainCall(k.masterConfig)),
	}
	if k.cfg.MasterLog != nil {
		list = append(list, getRoute("master/logs", login, streamCall(k.shared, k.masterLogs)))
	}
	return list
}

// masterLogs serves GET master/logs for administrators. A positive offset counts from the start, and a
// negative one from the end. With afterId, it starts after that record instead.
func (k *clusterCalls) masterLogs(ctx context.Context, c *call, send func(*apiv1.MasterLogsResponse) error) error {
	if !c.user.GetAdmin() {
		return refuseLog(c, send)
	}
	params := c.query()
	offset, limit, follow := params.Number("offset"), params.Lines(), params.IsSet("follow")
	if params.Text("afterId") != "" {
		// An ID that was not assigned yet comes from an earlier master, so that all records are new.
		if offset = int(params.After("afterId")); offset > k.cfg.MasterLog.endNumber() {
			offset = 0
		}
	}
	if params.Err() != nil {
		return params.Err()
	}
	if follow && limit > 0 {
		return status.New(status.InvalidArgument, "use either follow or limit")
	}
	return k.cfg.MasterLog.readRecords(ctx, ringQuery{offset: offset, limit: limit, follow: follow}, func(e *apiv1.LogEntry) error {
		return send(&apiv1.MasterLogsResponse{LogEntry: e})
	})
}

// refuseLog returns PermissionDenied. A request without parameters is one part of `det trial
// support-bundle`, which would fail as a whole; it gets a line instead of the log.
func refuseLog(c *call, send func(*apiv1.MasterLogsResponse) error) error {
	const why = "only administrators may read the master's log"
	if c.URL.RawQuery != "" {
		return status.New(status.PermissionDenied, why)
	}
	return send(&apiv1.MasterLogsResponse{LogEntry: &apiv1.LogEntry{
		Timestamp: timestamppb.Now(), Level: apiv1.LogLevel_LOG_LEVEL_WARNING, Message: why,
	}})
}

func (k *clusterCalls) master(*call) (*apiv1.GetMasterResponse, error) {
	id := k.cfg.Identity
	return &apiv1.GetMasterResponse{
		Version: Version, MasterId: id.MasterID, ClusterId: id.ClusterID, ClusterName: id.ClusterName,
		FeatureSwitches: k.cfg.FeatureSwitches, UserManagementEnabled: true, StrictJobQueueControl: k.cfg.StrictQueue,
		Branding: "det-deploy " + id.Version, LaunchFields: launchFields(),
	}, nil
}

// launchFields returns the own fields of a launch, whose numbers begin at 100, so that a newer client
// does not send a field that this master ignores.
func launchFields() []string {
	var out []string
	fields := new(apiv1.LaunchCommandRequest).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); f.Number() >= 100 {
			out = append(out, string(f.Name()))
		}
	}
	return out
}

// info serves GET /info, the first request of every client.
func (k *clusterCalls) info(w http.ResponseWriter, _ *http.Request) {
	id := k.cfg.Identity
	answer := map[string]any{
		"cluster_id": id.ClusterID, "cluster_name": id.ClusterName, "master_id": id.MasterID,
		"version": Version, "det_deploy_version": id.Version,
		"telemetry": map[string]bool{"enabled": false}, "on_hold": k.cfg.Rehearsal != nil,
	}
	if id.Program != nil && id.Program() != "" {
		answer["program_sha256"] = id.Program()
	}
	if k.cfg.Rehearsal != nil {
		answer["rehearsal"] = k.cfg.Rehearsal()
	}
	b, _ := json.Marshal(answer) // strings and numbers can always be encoded
	writeJSON(w, http.StatusOK, b)
}

// telemetry reports that telemetry is disabled, which it always is.
func (k *clusterCalls) telemetry(*call) (*apiv1.GetTelemetryResponse, error) {
	return &apiv1.GetTelemetryResponse{}, nil
}

func (k *clusterCalls) masterConfig(*call) (*apiv1.GetMasterConfigResponse, error) {
	if k.cfg.Settings == nil {
		return nil, status.New(status.Unimplemented, "this master does not expose its configuration")
	}
	// The conversion goes through JSON because a Struct accepts neither int nor typed slices.
	b, err := json.Marshal(map[string]any{"config": k.cfg.Settings()})
	if err != nil {
		return nil, err
	}
	out := &apiv1.GetMasterConfigResponse{}
	return out, protojson.Unmarshal(b, out)
}

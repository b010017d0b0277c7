package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

func (s *Server) master(*call) (*apiv1.GetMasterResponse, error) {
	id := s.cfg.Identity
	return &apiv1.GetMasterResponse{
		Version: Version, MasterId: id.MasterID, ClusterId: id.ClusterID, ClusterName: id.ClusterName,
		FeatureSwitches: s.cfg.FeatureSwitches, UserManagementEnabled: true, StrictJobQueueControl: s.cfg.StrictQueue,
		Branding: "det-deploy " + id.Version,
	}, nil
}

// info answers GET /info, which every client asks first.
func (s *Server) info(w http.ResponseWriter, _ *http.Request) {
	id := s.cfg.Identity
	answer := map[string]any{
		"cluster_id": id.ClusterID, "cluster_name": id.ClusterName, "master_id": id.MasterID,
		"version": Version, "det_deploy_version": id.Version, "program_sha256": id.Program,
		"telemetry": map[string]bool{"enabled": false}, "on_hold": s.cfg.Rehearsal != nil,
	}
	if s.cfg.Rehearsal != nil {
		answer["rehearsal"] = s.cfg.Rehearsal()
	}
	b, _ := json.Marshal(answer) // strings and numbers always can be
	writeJSON(w, http.StatusOK, b)
}

// telemetry is off, always: nothing is reported to anybody.
func (s *Server) telemetry(*call) (*apiv1.GetTelemetryResponse, error) {
	return &apiv1.GetTelemetryResponse{}, nil
}

func (s *Server) masterConfig(*call) (*apiv1.GetMasterConfigResponse, error) {
	if s.cfg.Settings == nil {
		return nil, status.New(status.Unimplemented, "this master does not show its configuration")
	}
	// Through JSON, because a Struct takes neither our integers nor our slices.
	b, err := json.Marshal(map[string]any{"config": s.cfg.Settings()})
	if err != nil {
		return nil, err
	}
	out := &apiv1.GetMasterConfigResponse{}
	return out, protojson.Unmarshal(b, out)
}

// uncategorized is the one workspace there is.
func uncategorized() *apiv1.Workspace {
	return &apiv1.Workspace{
		Id: 1, Name: rm.Uncategorized, Username: "admin", UserId: 1, Immutable: true, NumProjects: 1,
	}
}

func (s *Server) workspaces(c *call) (*apiv1.GetWorkspacesResponse, error) {
	w := uncategorized()
	list := []*apiv1.Workspace{w}
	if name := c.text("nameCaseSensitive"); name != "" && name != w.GetName() {
		list = nil
	}
	if name := c.text("name"); !strings.Contains(strings.ToLower(w.GetName()), strings.ToLower(name)) {
		list = nil
	}
	if b := c.flag("archived"); b != nil && *b {
		list = nil
	}
	if b := c.flag("pinned"); b != nil && *b {
		list = nil
	}
	if names := c.all("users"); len(names) > 0 && !slices.Contains(names, w.GetUsername()) {
		list = nil
	}
	if ids := c.numbers("userIds"); len(ids) > 0 && !slices.Contains(ids, w.GetUserId()) {
		list = nil
	}
	part, p := page(c, list)
	return &apiv1.GetWorkspacesResponse{Workspaces: part, Pagination: p}, c.bad
}

func (s *Server) workspace(c *call) (*apiv1.GetWorkspaceResponse, error) {
	if id, err := strconv.Atoi(c.PathValue("workspace")); err != nil || id != 1 {
		return nil, status.Missing("workspace", c.PathValue("workspace"))
	}
	return &apiv1.GetWorkspaceResponse{Workspace: uncategorized()}, nil
}

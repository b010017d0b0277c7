package server

import (
	"cmp"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/server/query"
)

// versionOrder orders numbers, which are given out in the order of time.
var versionOrder = map[string]func(a, b int32) int{
	"": cmp.Compare[int32], "SORT_BY_VERSION": cmp.Compare[int32], "SORT_BY_CREATION_TIME": cmp.Compare[int32],
}

func (m *modelCalls) versions(c *call) (*apiv1.GetModelVersionsResponse, error) {
	params := c.query()
	name := c.PathValue("model")
	of, numbers, err := m.cfg.Models.Numbers(c.Context(), name)
	if err != nil {
		return nil, err
	}
	query.Sort(params, numbers, versionOrder)
	part, p := query.Cut(params, numbers)
	out := &apiv1.GetModelVersionsResponse{Model: of, Pagination: p}
	for _, n := range part {
		v, err := m.cfg.Models.Version(c.Context(), name, n)
		if status.Of(err) == status.NotFound {
			continue // it was deleted meanwhile
		}
		if err == nil {
			err = m.hideVersion(c, v)
		}
		if err != nil {
			return nil, err
		}
		out.ModelVersions = append(out.ModelVersions, v)
	}
	return out, params.Err()
}

func (m *modelCalls) version(c *call) (*apiv1.GetModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	out, err := m.cfg.Models.Version(c.Context(), c.PathValue("model"), n)
	if err == nil {
		err = m.hideVersion(c, out)
	}
	return &apiv1.GetModelVersionResponse{ModelVersion: out}, err
}

func (m *modelCalls) register(c *call, in *apiv1.PostModelVersionRequest) (*apiv1.PostModelVersionResponse, error) {
	c.noteTarget(c.PathValue("model"), "checkpoint="+in.GetCheckpointUuid())
	out, err := m.cfg.Models.Register(c.Context(), c.user, c.PathValue("model"), in)
	return &apiv1.PostModelVersionResponse{ModelVersion: out}, err
}

func (m *modelCalls) patchVersion(c *call, in *apiv1.PatchModelVersion) (*apiv1.PatchModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	c.noteTarget(c.PathValue("model"), "version="+shownNumber(n))
	out, err := m.cfg.Models.PatchVersion(c.Context(), c.user, c.PathValue("model"), n, in)
	if err == nil {
		err = m.hideVersion(c, out)
	}
	return &apiv1.PatchModelVersionResponse{ModelVersion: out}, err
}

func (m *modelCalls) removeVersion(c *call) (*apiv1.DeleteModelVersionResponse, error) {
	n, err := c.numberInPath("version")
	if err != nil {
		return nil, err
	}
	c.noteTarget(c.PathValue("model"), "version="+shownNumber(n))
	return &apiv1.DeleteModelVersionResponse{}, m.cfg.Models.DeleteVersion(c.Context(), c.user, c.PathValue("model"), n)
}

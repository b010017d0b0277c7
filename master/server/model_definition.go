package server

import (
	"context"
	"iter"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// ModelDefinitions reads the files of experiments.
type ModelDefinitions interface {
	// ModelDefinition returns the gzipped tar of an experiment's files in parts, and its size in bytes,
	// which is 0 if there are no files.
	ModelDefinition(ctx context.Context, experiment int32) (size int64, parts iter.Seq2[[]byte, error], err error)
	// FileTree returns the entries of the archive by path.
	FileTree(ctx context.Context, experiment int32) ([]*apiv1.FileNode, error)
	// File returns a file of the archive. Errors have the codes NotFound and InvalidArgument.
	File(ctx context.Context, experiment int32, path string) ([]byte, error)
}

// modelDefinitionCalls serves the files of experiments to their owners and administrators; see visible.go.
type modelDefinitionCalls struct{ *shared }

func (m *modelDefinitionCalls) routes() []route {
	if m.cfg.Experiments == nil {
		return nil
	}
	return []route{
		getRoute("experiments/{experiment}/model_def", user, endpoint{
			out: new(apiv1.GetModelDefResponse).ProtoReflect().Descriptor(), serve: m.sendModelDefinition,
		}),
		getRoute("experiments/{experiment}/file_tree", user, plainCall(m.fileTree)),
		postRoute("experiments/{experiment}/file", user, unaryCall(m.file)),
	}
}

// checkModelReader returns the experiment of a call if the caller may read its files.
func (m *modelDefinitionCalls) checkModelReader(c *call) (int32, error) {
	id, err := c.experimentID()
	if err != nil {
		return 0, err
	}
	return id, m.cfg.Experiments.CheckReader(c.user, id, "the files")
}

func (m *modelDefinitionCalls) sendModelDefinition(c *call) error {
	id, err := m.checkModelReader(c)
	if err != nil {
		return err
	}
	size, parts, err := m.cfg.Experiments.ModelDefinition(c.Context(), id)
	if err != nil {
		return err
	}
	return m.sendArchive(c, size, parts)
}

func (m *modelDefinitionCalls) fileTree(c *call) (*apiv1.GetModelDefTreeResponse, error) {
	id, err := m.checkModelReader(c)
	if err != nil {
		return nil, err
	}
	files, err := m.cfg.Experiments.FileTree(c.Context(), id)
	return &apiv1.GetModelDefTreeResponse{Files: files}, err
}

func (m *modelDefinitionCalls) file(c *call, in *apiv1.GetModelDefFileRequest) (*apiv1.GetModelDefFileResponse, error) {
	id, err := m.checkModelReader(c)
	if err != nil {
		return nil, err
	}
	content, err := m.cfg.Experiments.File(c.Context(), id, in.GetPath())
	return &apiv1.GetModelDefFileResponse{File: content}, err
}

package experiment

import (
	"path"
	"unicode/utf8"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// code is the data of the page of the files.
type code struct {
	head

	Files []file
	// More is the number of files that are not listed.
	More int
	// Path is the file that is shown, and Text its content unless it is Binary. Cut is set if only its beginning
	// is shown.
	Path, Text  string
	Binary, Cut bool
}

// file is a file that the experiment was created with.
type file struct {
	Path string
	Size int32
}

const (
	// mostFiles is the number of listed files, and mostText the number of shown bytes of one.
	mostFiles = 500
	mostText  = 64 << 10
)

func serveFiles(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	tree, err := v.API.ExperimentFileTree(v.Context(), reply.GetExperiment().GetId())
	if err != nil {
		return err
	}
	data := code{head: newHead(reply, "/files"), Files: filesIn(tree)}
	data.More = max(0, len(data.Files)-mostFiles)
	data.Files = data.Files[:min(len(data.Files), mostFiles)]
	if data.Path = v.URL.Query().Get("path"); data.Path != "" {
		content, err := v.API.ExperimentFile(v.Context(), data.ID, data.Path)
		if err != nil {
			return err
		}
		data.show(content)
	}
	return v.Show(filesPage, title(reply), data)
}

// show sets the text of a file.
func (c *code) show(content []byte) {
	c.Cut = len(content) > mostText
	content = content[:min(len(content), mostText)]
	for c.Cut && len(content) > 0 && !utf8.RuneStart(content[len(content)-1]) {
		content = content[:len(content)-1]
	}
	if c.Cut && len(content) > 0 {
		content = content[:len(content)-1] // it may begin a character
	}
	if c.Binary = !utf8.Valid(content); !c.Binary {
		c.Text = ui.PlainLines(string(content))
	}
}

// filesIn returns the files of a tree without directories.
func filesIn(tree []*apiv1.FileNode) []file {
	var all []file
	for _, n := range tree {
		if !n.GetIsDir() {
			all = append(all, file{n.GetPath(), n.GetContentLength()})
		}
		all = append(all, filesIn(n.GetFiles())...)
	}
	return all
}

func serveFile(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	name := v.URL.Query().Get("path")
	content, err := v.API.ExperimentFile(v.Context(), id, name)
	if err != nil {
		return err
	}
	_, err = v.Attach(path.Base(name), "application/octet-stream").Write(content)
	return err
}

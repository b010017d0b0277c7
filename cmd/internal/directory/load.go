package directory

import (
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// heldLimit is the maximum size in bytes of a directory that is sent in one request, which is that of
// the det client. A master accepts a third more because of the encoding.
const heldLimit = 96 << 20

// Load reads the contents of the files, which are then sent in one request.
func (d *Directory) Load() error {
	if d.Bytes > heldLimit {
		return usage.Errorf("the directory has more than %d MB; exclude files in .detignore", heldLimit>>20)
	}
	for _, f := range d.Files {
		if f.GetType() != tarFile {
			continue
		}
		var err error
		if f.Content, err = os.ReadFile(d.Path(f)); err != nil {
			return err
		}
	}
	return nil
}

package logview

import (
	"bufio"
	"net/http"
	"strings"

	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// downloadLog sends the lines of a log that a filter selects as a file, with the prefixes that clients print.
func downloadLog(v *ui.Visit, s Source) error {
	q := ParseFilter(v.URL.Query()).Query()
	q.Before = ""
	var w *bufio.Writer
	for e, err := range s.Read(v.Context(), q) {
		switch {
		case err != nil && w == nil:
			return err
		case err != nil: // a file that ends early must not seem complete
			panic(http.ErrAbortHandler)
		case w == nil:
			w = bufio.NewWriter(v.Attach(s.File, "text/plain; charset=utf-8"))
		}
		if _, err := w.WriteString(strings.TrimRight(e.GetMessage(), "\n") + "\n"); err != nil {
			return nil // the visitor has left
		}
	}
	if w == nil {
		w = bufio.NewWriter(v.Attach(s.File, "text/plain; charset=utf-8"))
	}
	_ = w.Flush() // the visitor may have left
	return nil
}

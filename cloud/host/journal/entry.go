package journal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// entry is one line of the machine's journal.
type entry struct {
	cursor string
	stream string
	event  Event
}

// Rest is the stream, after the machine's id and a slash, of everything that is
// not from a unit of ours.
const Rest = "journal"

// streamOf names the stream of a unit: "det-deploy-master.service" becomes
// "i-0abc/det-deploy-master". A stream for each unit of a machine would be some
// forty, of which most are never read.
func streamOf(instance, unit string) string {
	if name, ours := strings.CutSuffix(unit, ".service"); ours && strings.HasPrefix(name, "det-deploy-") {
		return instance + "/" + name
	}
	return instance + "/" + Rest
}

// parseEntry reads what `journalctl --output=json` writes for one entry.
func parseEntry(line []byte, instance string) (entry, error) {
	var l struct {
		Cursor  string `json:"__CURSOR"`
		At      string `json:"__REALTIME_TIMESTAMP"`
		Unit    field  `json:"_SYSTEMD_UNIT"`
		Ident   field  `json:"SYSLOG_IDENTIFIER"`
		Message field  `json:"MESSAGE"`
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return entry{}, fmt.Errorf("read the journal: %w", err)
	}
	micro, err := strconv.ParseInt(l.At, 10, 64)
	if err != nil {
		return entry{}, fmt.Errorf("read the journal: time %q: %w", l.At, err)
	}
	e := entry{
		cursor: l.Cursor, stream: streamOf(instance, string(l.Unit)),
		event: Event{ID: l.Cursor, At: time.UnixMicro(micro), Text: string(l.Message)},
	}
	if e.stream == instance+"/"+Rest && l.Ident != "" && l.Message != "" {
		e.event.Text = string(l.Ident) + ": " + e.event.Text
	}
	return e, nil
}

// field is a value of the journal: text, bytes where it is not UTF-8, several
// where it was given more than once, null where it is too long to show.
type field string

// UnmarshalJSON reads any of these.
func (f *field) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*f = field(text)
		return nil
	}
	var bytes []uint16 // []byte would be read as base64
	if json.Unmarshal(data, &bytes) == nil {
		raw := make([]byte, len(bytes))
		for i, b := range bytes {
			raw[i] = byte(b)
		}
		*f = field(strings.ToValidUTF8(string(raw), "\uFFFD"))
		return nil
	}
	var several []field
	if err := json.Unmarshal(data, &several); err != nil {
		return err
	}
	if len(several) > 0 {
		*f = several[0]
	}
	return nil
}

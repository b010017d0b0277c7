package journal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// entry is one entry of the machine's journal.
type entry struct {
	cursor string
	stream string
	event  Event
}

// Rest is the name, after the instance ID and a slash, of the stream for all units that are not
// det-deploy's.
const Rest = "journal"

// streamOf returns the stream of a unit: "det-deploy-master.service" maps to
// "i-0abc/det-deploy-master". Units of the system share one stream, because a machine has some
// forty that are rarely read.
func streamOf(instance, unit string) string {
	if name, ours := strings.CutSuffix(unit, ".service"); ours && strings.HasPrefix(name, "det-deploy-") {
		return instance + "/" + name
	}
	return instance + "/" + Rest
}

// parseEntry parses one entry from the output of `journalctl --output=json`.
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

// field is the value of a journal field: a string, an array of bytes if it is not UTF-8, an array
// of values if the field occurs several times, or null if it is too long.
type field string

// UnmarshalJSON implements json.Unmarshaler.
func (f *field) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*f = field(text)
		return nil
	}
	var bytes []uint16 // []byte would be decoded as base64
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

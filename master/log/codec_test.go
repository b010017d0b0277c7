package log

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func FuzzDecode(f *testing.F) {
	body := appendLine(appendWho(nil, who{"a", "task", "stdout", 3}), Line{At: time.UnixMicro(5), Level: Info, Text: "x"})
	f.Add(sealChunk(body))
	f.Add(sealChunk(bytes.Repeat(appendLine(nil, Line{Text: strings.Repeat("y", 99)}), 99)))
	f.Add([]byte{versionPlain, recordWho, 0xff})
	f.Add([]byte{versionDeflated, 1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := decodeChunk(data)
		if err != nil {
			return
		}
		var again []byte
		for _, e := range entries {
			rank := -1
			if e.Rank != nil {
				rank = *e.Rank
			}
			again = appendLine(appendWho(again, who{e.Agent, e.Source, e.Stdtype, rank}), e.Line)
		}
		if len(again) > bodyLimit {
			return
		}
		back, err := decodeChunk(sealChunk(again))
		if err != nil || len(back) != len(entries) {
			t.Fatalf("got %d lines error %v, want %d", len(back), err, len(entries))
		}
	})
}

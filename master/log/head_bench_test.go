package log_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/master/log"
)

// BenchmarkReadHead measures the cost of parsing a line.
func BenchmarkReadHead(b *testing.B) {
	for name, text := range map[string]string{
		"plain": "epoch 3 step 120 loss 0.123456 accuracy 0.912345 learning rate 0.000100 throughput 812.5 samples/s",
		"head":  "[rank=3] WARNING: epoch 3 step 120 loss 0.123456 accuracy 0.912345 learning rate 0.000100",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				log.ReadHead(log.Line{Text: text})
			}
		})
	}
}

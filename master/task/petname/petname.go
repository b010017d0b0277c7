// Package petname generates names for tasks without a description that people can distinguish and
// pronounce: three words, such as "early-amber-otter".
package petname

import (
	"encoding/binary"
	"strings"
)

const (
	adverbs    = "ably boldly calmly deeply early fairly gladly highly idly justly keenly lately madly nearly oddly partly quietly rarely safely tidily utterly vastly warmly yearly"
	adjectives = "amber azure brave brisk civil clear crisp dusty eager fancy fresh gentle grand happy humble jolly kind lively lucid mellow neat noble plain proud quick rapid rosy round silver smooth solid sunny swift tame tiny vivid warm wise witty young"
	animals    = "adder badger beaver bison camel cheetah condor crane dingo dolphin eagle falcon ferret finch gecko gibbon heron hippo ibex jackal koala lark lemur lynx magpie marten newt ocelot osprey otter owl panda puffin quail rabbit raven salmon seal shrew stork swan tapir tern toad trout viper walrus weasel wombat zebra"
)

// Of returns the name for id, a UUID. The same id always has the same name.
func Of(id [16]byte) string {
	// The last six bytes are random in every UUID version in use.
	adverb := pick(adverbs, id[10:12])
	adjective := pick(adjectives, id[12:14])
	return adverb + "-" + adjective + "-" + pick(animals, id[14:16])
}

func pick(list string, b []byte) string {
	words := strings.Fields(list)
	return words[int(binary.BigEndian.Uint16(b))%len(words)]
}

package usage

import "github.com/spf13/pflag"

// wordsOfFlag is the annotation of a flag with the values that a shell offers for it.
const wordsOfFlag = "det_deploy_words"

// SetWords sets the values that a shell offers for a flag. A text after a tab describes the value.
func SetWords(flags *pflag.FlagSet, name string, words []string) {
	_ = flags.SetAnnotation(name, wordsOfFlag, words) // it fails only for an unknown flag
}

// Words returns the values that a shell offers for a flag.
func Words(f *pflag.Flag) []string { return f.Annotations[wordsOfFlag] }

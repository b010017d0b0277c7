// Command protogen generates Go code from the project's .proto files. It needs neither protoc nor a
// plugin on the machine: go.mod pins the compiler and the generator, so that the output is
// reproducible.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	gengo "google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

const module = "github.com/det-deploy/det-deploy"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	defer stop()
	if err := generate(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1) //nolint:forbidigo,gocritic // this is main
	}
}

// generate writes the .pb.go of every .proto file that matches the globs, relative to the module's
// root, which must be the working directory.
func generate(ctx context.Context, globs []string) error {
	var files []string
	for _, g := range globs {
		found, err := filepath.Glob(g)
		if err != nil {
			return fmt.Errorf("expand %s: %w", g, err)
		}
		files = append(files, found...)
	}
	request, err := compile(ctx, files)
	if err != nil {
		return err
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		return fmt.Errorf("prepare the generator: %w", err)
	}
	for _, f := range plugin.Files {
		if f.Generate {
			gengo.GenerateFile(plugin, f)
		}
	}
	return write(plugin.Response())
}

func compile(ctx context.Context, files []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: files,
		Parameter:      proto.String("module=" + module),
	}
	// Each file comes once, after its imports.
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(f))
	}
	for _, f := range compiled {
		add(f)
	}
	return request, nil
}

func write(response *pluginpb.CodeGeneratorResponse) error {
	if response.Error != nil {
		return fmt.Errorf("generate: %s", response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(f.GetName(), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

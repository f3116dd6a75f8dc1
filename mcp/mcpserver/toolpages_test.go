package mcpserver_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/runnerhub/runnerhub/hub/api"
)

// pagesIndex is the page that lists the others.
const pagesIndex = "README.md"

// toolPages are the manual's pages of the tools by file name, and pagesIndex: all that the table knows of each.
func toolPages(ops []api.Operation) map[string]string {
	pages := map[string]string{}
	var index strings.Builder
	index.WriteString("# Tools\n\nThese pages are written from the code. Each tool has an HTTP twin that takes the same arguments, in the path, the query or a JSON body, and\n" +
		"answers the same; the whole schemas are at `/api/v1/openapi.json` of every hub.\n")
	for _, part := range []struct {
		title string
		shows func(o *api.Operation) bool
	}{
		{"Jobs", inToolset(api.JobTools)},
		{"Artifacts", inToolset(api.ArtifactTools)},
		{"Runners", inToolset(api.RunnerTools)},
		{"A workspace's runners", inToolset(api.AdminTools)},
		{"In every toolset", inToolset("")},
		{"For runners", func(o *api.Operation) bool { return o.Audience == api.Runner }},
	} {
		fmt.Fprintf(&index, "\n## %s\n\n", part.title)
		for i := range ops {
			if o := &ops[i]; !o.HTTPOnly && part.shows(o) {
				pages[o.Name+".md"] = toolPage(o)
				fmt.Fprintf(&index, "- [`%s`](%s.md): %s\n", o.Name, o.Name, o.Title)
			}
		}
	}
	pages[pagesIndex] = index.String()
	return pages
}

func inToolset(set api.Toolset) func(o *api.Operation) bool {
	return func(o *api.Operation) bool { return o.Audience == api.People && o.Toolset == set }
}

func toolPage(o *api.Operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# `%s`\n\n%s.\n\n%s\n\n", o.Name, o.Title, o.Description)
	fmt.Fprintf(&b, "- Changes: %s\n- Called twice with the same arguments: %s\n- HTTP: `%s %s%s`\n", changes(o.Hints), twice(o.Hints), o.Route.Method, api.Base, o.Route.Path)
	if o.Toolset != "" {
		fmt.Fprintf(&b, "- Toolset: `%s`\n", o.Toolset)
	}
	b.WriteString("\n## Arguments\n\n")
	if len(o.Input.Properties) == 0 {
		b.WriteString("None.\n")
	} else {
		b.WriteString("| name | type | what it is |\n|---|---|---|\n")
		for _, f := range fieldsOf(o.Input, "") {
			fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", f.name, required(f.required), f.typ, f.note)
		}
	}
	b.WriteString("\n## Result\n\n| name | type |\n|---|---|\n")
	for _, f := range fieldsOf(o.Output, "") {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.typ)
	}
	return b.String()
}

func twice(h api.Hints) string {
	if h.Idempotent || h.ReadOnly {
		return "as once"
	}
	return "happens twice"
}

func required(yes bool) string {
	if yes {
		return " (required)"
	}
	return ""
}

type fieldRow struct {
	name, typ, note string
	required        bool
}

// maxNesting is how deep a page follows objects: what is deeper, such as a job in a list, is in the OpenAPI document.
const maxNesting = 2

// fieldsOf are the fields of an object and of the objects in it.
func fieldsOf(s *jsonschema.Schema, prefix string) []fieldRow {
	var rows []fieldRow
	names := s.PropertyOrder
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	for _, name := range names {
		p := s.Properties[name]
		rows = append(rows, fieldRow{prefix + name, typeWords(p), limitWords(p), slices.Contains(s.Required, name)})
		inner, suffix := p, "."
		if p.Items != nil {
			inner, suffix = p.Items, "[]."
		}
		if len(inner.Properties) > 0 && strings.Count(prefix, ".") < maxNesting {
			rows = append(rows, fieldsOf(inner, prefix+name+suffix)...)
		}
	}
	return rows
}

func typeWords(s *jsonschema.Schema) string {
	switch {
	case s.Items != nil:
		return "list of " + typeWords(s.Items)
	case len(s.AnyOf) > 0:
		var words []string
		for _, branch := range s.AnyOf {
			words = append(words, typeWords(branch))
		}
		return strings.Join(words, " or ")
	case s.Format == "date-time":
		return "time"
	case s.Type == "":
		return "any"
	default:
		return s.Type
	}
}

// limitWords is what is said of a field, and what it may be.
func limitWords(s *jsonschema.Schema) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.Description != "" {
		parts = append(parts, s.Description)
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, w := range s.Enum {
			words = append(words, fmt.Sprintf("`%v`", w))
		}
		add("one of %s", strings.Join(words, ", "))
	}
	number := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		add("%s to %s", number(s.Minimum), number(s.Maximum))
	case s.Minimum != nil:
		add("at least %s", number(s.Minimum))
	}
	if s.MaxLength != nil {
		add("at most %d bytes", *s.MaxLength)
	}
	if s.MaxItems != nil {
		add("at most %d", *s.MaxItems)
	}
	if len(s.Default) > 0 {
		add("default `%s`", strings.Trim(string(s.Default), `"`))
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), "|", `\|`)
}

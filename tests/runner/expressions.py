"""Expressions of GitHub Actions: https://docs.github.com/actions/reference/workflows-and-actions/expressions"""

import json
import re

TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[!<>().,\[\]*]))"
)


class ExpressionError(Exception):
    """The expression is not one."""


def tokens(source):
    at, found = 0, []
    source = source.rstrip()
    while at < len(source):
        match = TOKEN.match(source, at)
        if not match:
            raise ExpressionError(f"cannot read {source[at:]!r}")
        found.append((match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return [*found, ("end", "")]


def truthy(value):
    return value not in (None, False, 0, "") or isinstance(value, (dict, list))


def number(value):
    if value is None or value == "":
        return 0
    if isinstance(value, (bool, int, float)):
        return float(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def equal(a, b):
    if isinstance(a, str) and isinstance(b, str):
        return a.lower() == b.lower()
    if type(a) is type(b) or isinstance(a, (dict, list)) or isinstance(b, (dict, list)):
        return a == b
    return number(a) == number(b)


def text(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return str(value)


class Parser:
    def __init__(self, source, context, functions):
        self.tokens, self.at = tokens(source), 0
        self.context, self.functions = context, functions

    def peek(self, *signs):
        kind, value = self.tokens[self.at]
        return kind == "sign" and value in signs

    def take(self, *signs):
        if not self.peek(*signs):
            raise ExpressionError(f"expected {' or '.join(signs)}, found {self.tokens[self.at][1]!r}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def whole(self):
        value = self.either()
        if self.tokens[self.at][0] != "end":
            raise ExpressionError(f"unexpected {self.tokens[self.at][1]!r}")
        return value

    def either(self):
        value = self.both()
        while self.peek("||"):
            self.take("||")
            other = self.both()
            value = value if truthy(value) else other
        return value

    def both(self):
        value = self.compared()
        while self.peek("&&"):
            self.take("&&")
            other = self.compared()
            value = other if truthy(value) else value
        return value

    def compared(self):
        value = self.unary()
        while self.peek("==", "!=", "<", ">", "<=", ">="):
            sign = self.take("==", "!=", "<", ">", "<=", ">=")
            other = self.unary()
            if sign in ("==", "!="):
                value = equal(value, other) == (sign == "==")
            else:
                a, b = number(value), number(other)
                value = {"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[sign]
        return value

    def unary(self):
        if self.peek("!"):
            self.take("!")
            return not truthy(self.unary())
        return self.reached(self.primary())

    def primary(self):
        kind, value = self.tokens[self.at]
        self.at += 1
        if kind == "text":
            return value[1:-1].replace("''", "'")
        if kind == "number":
            return float(value) if "." in value else int(value)
        if kind == "sign" and value == "(":
            inner = self.either()
            self.take(")")
            return inner
        if kind != "name":
            raise ExpressionError(f"unexpected {value!r}")
        if value in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[value]
        if self.peek("("):
            self.take("(")
            arguments = []
            while not self.peek(")"):
                arguments.append(self.either())
                if self.peek(","):
                    self.take(",")
            self.take(")")
            if value not in self.functions:
                raise ExpressionError(f"unknown function {value}")
            return self.functions[value](*arguments)
        if value not in self.context:
            raise ExpressionError(f"unknown context {value}")
        return self.context[value]

    def reached(self, value):
        while self.peek(".", "["):
            if self.take(".", "[") == ".":
                if self.peek("*"):
                    self.take("*")
                    value = list(value.values()) if isinstance(value, dict) else value
                    continue
                kind, name = self.tokens[self.at]
                if kind != "name":
                    raise ExpressionError(f"expected a name, found {name!r}")
                self.at += 1
            else:
                name = self.either()
                self.take("]")
            if isinstance(value, list) and isinstance(name, str):
                value = [item.get(name) for item in value if isinstance(item, dict)]
            elif isinstance(value, list):
                value = value[int(name)] if int(name) < len(value) else None
            else:
                value = value.get(text(name)) if isinstance(value, dict) else None
        return value


FUNCTIONS = {
    "contains": lambda where, what: any(equal(x, what) for x in where)
    if isinstance(where, list)
    else text(what).lower() in text(where).lower(),
    "startsWith": lambda a, b: text(a).lower().startswith(text(b).lower()),
    "endsWith": lambda a, b: text(a).lower().endswith(text(b).lower()),
    "format": lambda form, *values: re.sub(r"\{(\d+)\}", lambda m: text(values[int(m[1])]), form),
    "join": lambda values, by=",": text(by).join(text(v) for v in values),
    "toJSON": lambda value: json.dumps(value, indent=2),
    "fromJSON": json.loads,
}


def evaluate(source, context, functions):
    """The value of one expression, without `${{ }}`."""
    return Parser(source, context, {**FUNCTIONS, **functions}).whole()


def substitute(source, context, functions):
    """A text with its `${{ }}` replaced."""
    if not isinstance(source, str):
        return source
    whole = re.fullmatch(r"\s*\$\{\{(.*?)\}\}\s*", source, re.S)
    if whole and "${{" not in whole[1]:
        return evaluate(whole[1], context, functions)
    return re.sub(r"\$\{\{(.*?)\}\}", lambda m: text(evaluate(m[1], context, functions)), source, flags=re.S)

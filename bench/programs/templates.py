"""Pages of a web site from templates: loops, filters, inheritance and escaping, as web frameworks do it."""

import jinja2

templates = jinja2.Environment(autoescape=True, loader=jinja2.DictLoader({
    "base": "<html><title>{% block title %}{% endblock %}</title><body>{% block body %}{% endblock %}</body></html>",
    "page": """{% extends "base" %}{% block title %}{{ name | upper }}{% endblock %}{% block body %}<table>
{% for row in rows %}<tr class="{{ loop.cycle('odd', 'even') }}">{% for cell in row %}<td>{{ cell | string | truncate(12) }}</td>
{% endfor %}</tr>{% else %}<p>nothing{% endfor %}</table>{% for tag in tags | sort | unique %}<a>{{ tag }}</a>{% endfor %}{% endblock %}""",
}))
page = templates.get_template("page")
rows = [[f"<cell {i} & {k}>", i * k, "long text " * (i % 4), None] for i in range(300) for k in range(2)]
pages = [page.render(name=f"page {number}", rows=rows, tags=[f"tag{i % 17}" for i in range(100)]) for number in range(60)]
assert all(one.count("<tr") == 600 and "&lt;cell" in one for one in pages)
print(len(pages), "pages")

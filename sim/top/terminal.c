/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The terminal of jacquard top: a page that ncurses redraws, scrolls and cuts to the window. */
#include <assert.h>
#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

static int first_line; /* of the page, at the top of the window */

bool top_terminal_begin(void)
{
    const char *type = getenv("TERM");

    /* newterm fails where initscr would end the process. */
    if (type == NULL || newterm(NULL, stdout, stdin) == NULL)
        return false;
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    first_line = 0;
    return true;
}

void top_terminal_end(void)
{
    endwin();
}

/* The lines from first_line on, as many as the window has, each cut to its width. */
static void draw(const char *page)
{
    int skip = first_line, row, rows, columns;
    const char *line = page;

    assert(skip >= 0);
    getmaxyx(stdscr, rows, columns);
    erase();
    while (skip > 0 && (line = strchr(line, '\n')) != NULL)
        line++, skip--;
    for (row = 0; row < rows && line != NULL && *line != '\0'; row++) {
        int length = (int)strcspn(line, "\n");

        mvaddnstr(row, 0, line, length < columns ? length : columns);
        line += length + (line[length] == '\n');
    }
    refresh();
}

static int lines_of(const char *page)
{
    int lines = 0;

    for (; *page != '\0'; page++)
        lines += *page == '\n';
    return lines;
}

/* Moves the window over the page, and never past its last line. */
static void scroll_by(int lines, const char *page)
{
    int last = lines_of(page) - 1;

    first_line += lines;
    if (first_line > last)
        first_line = last;
    if (first_line < 0)
        first_line = 0;
}

bool top_terminal_show(const char *page, double seconds)
{
    int key;

    scroll_by(0, page);
    draw(page);
    timeout((int)(seconds * 1000));
    while ((key = getch()) != ERR) {
        if (key == 'q' || key == 'Q')
            return false;
        if (key == KEY_DOWN || key == KEY_UP)
            scroll_by(key == KEY_DOWN ? 1 : -1, page);
        else if (key == KEY_NPAGE || key == KEY_PPAGE)
            scroll_by((key == KEY_NPAGE ? 1 : -1) * (LINES - 1), page);
        else if (key != KEY_RESIZE)
            return true; /* any other key: new figures at once */
        draw(page);
    }
    return true;
}

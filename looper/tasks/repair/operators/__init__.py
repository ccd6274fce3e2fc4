"""Edit operators by kind. Each yields drafts for one syntax node; nothing here runs or checks a program."""
